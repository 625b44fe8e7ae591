// What a watch asks for. It is answered from the changes themselves and not by MySQL, so it selects less than a list.
import { type FieldCondition, labelHolds } from '../../storage/list-query.ts';
import type { StoredObject } from '../../storage/metadata-storage.ts';
import { QueryError } from '../errors.ts';
import { type ListRequest, parseListRequest, type Source } from '../list-request.ts';
import { type Whereabouts, whereabouts } from '../present.ts';
import type { Change } from './change-log.ts';

export interface WatchRequest extends Pick<ListRequest, 'labels' | 'source' | 'includeObject' | 'where'> {
  /** The resourceVersion up to which the client knows everything; undefined: the objects that there are come first. */
  readonly after: string | undefined;
  /** The end of the objects that there are is marked. */
  readonly marksInitial: boolean;
  readonly bookmarks: boolean;
  /** Seconds, undefined for the usual. */
  readonly timeoutSeconds: number | undefined;
  readonly selects: (stored: StoredObject) => boolean;
}

const equalities = {
  'metadata.name': (stored: StoredObject) => stored.name,
  'metadata.namespace': (stored: StoredObject) => stored.namespace,
  'metadata.uid': (stored: StoredObject) => stored.uid,
} as const;

/** `namespace`: the one of the path, whose objects alone the user may see; undefined: all of them. */
export function parseWatchRequest(query: URLSearchParams, namespace: string | undefined): WatchRequest {
  const asked = parseListRequest(query, 'watch');
  const initial = query.get('sendInitialEvents');
  return {
    ...asked,
    after: initial === 'true' ? undefined : asked.minResourceVersion,
    marksInitial: initial === 'true',
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    timeoutSeconds: secondsOf(query.get('timeoutSeconds')),
    selects: selectionOf(asked.where, namespace),
  };
}

function secondsOf(text: string | null): number | undefined {
  if (text === null || text === '' || text === '0') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new QueryError('BadRequest', 'timeoutSeconds is a number');
}

function selectionOf(
  conditions: ListRequest['where'],
  namespace: string | undefined,
): (stored: StoredObject) => boolean {
  const tests = conditions.map((condition) => equality(condition as FieldCondition));
  const isThere = (stored: StoredObject): boolean => namespace === undefined || stored.namespace === namespace;
  return (stored) => isThere(stored) && tests.every((test) => test(stored));
}

function equality(condition: FieldCondition): (stored: StoredObject) => boolean {
  const valueOf = Object.hasOwn(equalities, condition.field)
    ? equalities[condition.field as keyof typeof equalities]
    : undefined;
  if (valueOf !== undefined && 'value' in condition && condition.operator === '=')
    return (stored) => valueOf(stored) === condition.value;
  throw new QueryError(
    'BadRequest',
    `a watch selects by labels, source, and by = of ${Object.keys(equalities).join(', ')}; list with ${condition.field}, or watch without it`,
  );
}

/** Of which whereabouts a source shows objects, and in which it tells that they are gone from it. */
const shown: Readonly<Record<Source, { readonly in: readonly Whereabouts[]; readonly gone: readonly Whereabouts[] }>> =
  {
    present: { in: ['live', 'evicted'], gone: ['deleted'] },
    live: { in: ['live'], gone: ['evicted', 'deleted'] },
    evicted: { in: ['evicted'], gone: ['deleted'] },
    deleted: { in: ['deleted'], gone: [] },
    all: { in: ['live', 'evicted', 'deleted'], gone: [] },
  };

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * The uids that a client with a label selector knows, because an object that matches no more has to go. Of changes before
 * the watch it is not known which; of these, and without a selector, a client is told of more ends than it knows objects.
 */
export interface Matching {
  readonly uids: Pick<Set<string>, 'delete'> & { add(uid: string): void };
  readonly isEarlier: boolean;
}

/** Which event a change is to the watch; undefined where it is none. */
export function eventOf(
  change: Change,
  { source, labels, selects }: WatchRequest,
  { uids, isEarlier }: Matching,
): EventType | undefined {
  const { stored } = change;
  if (!selects(stored)) return undefined;
  const where = whereabouts(stored);
  const matches = labels.every((requirement) => labelHolds(requirement, change.labels));
  if (shown[source].in.includes(where) && matches) {
    if (labels.length > 0) uids.add(stored.uid);
    return change.isNew && where === 'live' ? 'ADDED' : 'MODIFIED';
  }
  if (labels.length > 0) return uids.delete(stored.uid) || isEarlier ? 'DELETED' : undefined;
  return shown[source].gone.includes(where) ? 'DELETED' : undefined;
}
