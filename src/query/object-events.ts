// The Kubernetes events about an object, for users who may list events in its namespace. The API server is asked each time:
// it keeps events for an hour and has no other copy.
import { isJsonObject, type JsonObject, valueAt } from '../base/json.ts';
import { isKubeError } from '../kube/errors.ts';
import { coreEvents } from '../kube/resources.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { refuseParameters } from './list-request.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { QueryAppOptions } from './options.ts';
import type { ObjectTarget } from './paths.ts';
import { Places } from './places.ts';
import { findStored } from './reads.ts';

/** Of an answer, the newest. */
const MOST = 50;
/** Events that are looked at; the API server gives them in the order of their names. */
const MOST_READ = 500;
const MOST_BYTES: number = 4 * 1024 * 1024;
/** Lists at once: for each the API server looks through all events of the namespace. */
const AT_ONCE = 8;

export class ObjectEvents {
  readonly #options: Pick<QueryAppOptions, 'authorizer' | 'client' | 'storage'>;
  readonly #places = new Places(AT_ONCE);

  constructor(options: Pick<QueryAppOptions, 'authorizer' | 'client' | 'storage'>) {
    this.#options = options;
  }

  async answer(target: ObjectTarget, context: Context): Promise<void> {
    const { kind, namespace, name } = target;
    const { authorizer, storage, client } = this.#options;
    const { time, user, query } = context;
    refuseParameters(query, ['uid']);
    await time.within(authorizer.require(user, { verb: 'get', kind, namespace, name }, time.signal));
    await time.within(authorizer.requireEvents(user, namespace, time.signal));
    const { uid } = await time.within(findStored(storage.until(time.signal), target, query.get('uid') ?? undefined));
    const fieldSelector = `involvedObject.uid=${uid.replaceAll(/[\\,=]/g, String.raw`\$&`)}`;
    const options = { namespace, fieldSelector, limit: MOST_READ, mostBytes: MOST_BYTES };
    const list = this.#places.around(user.name, time.signal, () => client.list(coreEvents, options, time.signal));
    const { items: events, continueToken } = await time.within(list.catch(explain));
    const items = events.map((event) => eventDocument(event.parse())).toSorted(newestFirst);
    sendJson(context, {
      kind: 'StoredEventList',
      apiVersion: STORED_GROUP_VERSION,
      truncated: continueToken !== undefined || items.length > MOST,
      items: items.slice(0, MOST),
    });
  }
}

function explain(error: unknown): never {
  if (!isKubeError(error, 'Forbidden')) throw error;
  const message =
    'events are not shown here: the account of the query API may not list them (config/components/query/events.yaml)';
  throw new QueryError('Forbidden', message, { cause: error });
}

/** What a reader of either API for events looks at, under one name for each. */
function eventDocument(event: object): JsonObject {
  const text = (...path: readonly string[]): string | undefined => {
    const value = valueAt(event, path);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const created = text('metadata', 'creationTimestamp');
  const first = text('firstTimestamp') ?? text('eventTime') ?? created;
  const last = text('series', 'lastObservedTime') ?? text('lastTimestamp') ?? first;
  const count = valueAt(event, ['series', 'count']) ?? valueAt(event, ['count']);
  return withoutUndefined({
    type: text('type'),
    reason: text('reason'),
    message: text('message'),
    count: typeof count === 'number' ? count : 1,
    firstTime: first,
    lastTime: last,
    reporter: text('reportingComponent') ?? text('source', 'component'),
  });
}

function withoutUndefined(parts: Readonly<Record<string, string | number | undefined>>): JsonObject {
  const found: unknown = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
  return isJsonObject(found) ? found : {};
}

function newestFirst(left: JsonObject, right: JsonObject): number {
  const at = ({ lastTime }: JsonObject): number => (typeof lastTime === 'string' ? Date.parse(lastTime) : 0);
  return at(right) - at(left);
}
