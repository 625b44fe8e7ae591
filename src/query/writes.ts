// The two writes: putting an object back, and asking for its deletion. Both go to the cluster, as the original's API
// server does, and need the user's right on the original kind; what they do is the business of the port.
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { readJsonBody } from './body.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { refuseParameters } from './list-request.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import type { QueryAppOptions } from './options.ts';
import type { ObjectTarget } from './paths.ts';
import type { DeleteOrder } from './write-port.ts';

const policies = ['Orphan', 'Background', 'Foreground'];

export class Writer {
  readonly #options: QueryAppOptions;

  constructor(options: QueryAppOptions) {
    this.#options = options;
  }

  /** Whoever restores gets to read what comes back, so reading is asked for too. */
  async restore(target: ObjectTarget, context: Context): Promise<void> {
    const { authorizer, writes, logger } = this.#options;
    const { query, time, user } = context;
    const { kind, namespace, name } = target;
    refuseParameters(query, ['dryRun', 'uid']);
    await time.within(authorizer.require(user, { verb: 'get', kind, namespace, name }, time.signal));
    await time.within(authorizer.require(user, { verb: 'create', kind, namespace }, time.signal));
    const body = new Body(await readJsonBody(context.request), ['uid', 'dryRun']);
    const uid = body.text('uid') ?? query.get('uid') ?? undefined;
    const dryRun = body.dryRun(query);
    body.finish();
    const restored = await time.within(writes.restore(target, { uid, dryRun, requester: user.name }));
    logger.info({ kind: kind.kind, namespace, name, user: user.name, dryRun }, 'Restore asked for');
    sendJson(context, { kind: 'RestoreResult', apiVersion: STORED_GROUP_VERSION, ...restored });
  }

  async delete(target: ObjectTarget, context: Context): Promise<void> {
    const { authorizer, writes, logger } = this.#options;
    const { query, time, user } = context;
    const { kind, namespace, name } = target;
    refuseParameters(query, ['dryRun', 'propagationPolicy', 'gracePeriodSeconds']);
    await time.within(authorizer.require(user, { verb: 'delete', kind, namespace, name }, time.signal));
    const body = new Body(await readJsonBody(context.request), deleteKeys);
    const preconditions = body.preconditions();
    const propagationPolicy = body.text('propagationPolicy') ?? query.get('propagationPolicy') ?? undefined;
    if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
      body.wrong(`propagationPolicy is one of ${policies.join(', ')}`);
    }
    const dryRun = body.dryRun(query);
    body.finish();
    const order = { ...preconditions, propagationPolicy, dryRun, requester: user.name };
    const { outcome, uid } = await time.within(writes.delete(target, order));
    logger.info({ kind: kind.kind, namespace, name, uid, user: user.name, dryRun, outcome }, 'Deletion asked for');
    sendJson(context, accepted(target, uid, outcome), outcome === 'marked' ? 202 : 200);
  }
}

const deleteKeys = [
  'apiVersion',
  'kind',
  'preconditions',
  'propagationPolicy',
  'dryRun',
  'gracePeriodSeconds',
  'orphanDependents',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
];

function accepted({ kind, name }: ObjectTarget, uid: string, outcome: 'marked' | 'deleted'): JsonObject {
  const message =
    outcome === 'marked'
      ? 'marked for deletion; it goes once MySQL has its final state'
      : 'it was in MySQL only, and is deleted there';
  const details = { name, group: STORED_GROUP, kind: kind.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', message, details };
}

/** A small body, with all that is wrong in it at once. */
class Body {
  readonly #body: JsonObject;
  readonly #problems: string[] = [];

  constructor(body: unknown, known: readonly string[]) {
    this.#body = isJsonObject(body) ? body : {};
    if (body !== undefined && !isJsonObject(body)) this.wrong('the body is a JSON object');
    for (const key of Object.keys(this.#body)) {
      if (!known.includes(key)) this.wrong(`"${key.slice(0, 100)}" is not known; known are ${known.join(', ')}`);
    }
  }

  wrong(problem: string): void {
    this.#problems.push(problem);
  }

  text(key: string, from: JsonObject = this.#body): string | undefined {
    const value = from[key] ?? '';
    if (typeof value !== 'string') this.wrong(`${key} is a text`);
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  preconditions(): Pick<DeleteOrder, 'uid' | 'resourceVersion'> {
    const given = this.#body['preconditions'] ?? {};
    if (!isJsonObject(given)) this.wrong('preconditions is an object');
    const conditions = isJsonObject(given) ? given : {};
    return { uid: this.text('uid', conditions), resourceVersion: this.text('resourceVersion', conditions) };
  }

  /** As a boolean, or as Kubernetes has it: `All`, in the body or as a parameter. */
  dryRun(query: URLSearchParams): boolean {
    const value = this.#body['dryRun'] ?? false;
    const all = (Array.isArray(value) ? value : [value]).concat(query.getAll('dryRun'));
    const known: readonly unknown[] = [true, false, 'All', 'true', 'false'];
    if (!all.every((one) => known.includes(one))) this.wrong('dryRun is All');
    return all.some((one) => one === true || one === 'All' || one === 'true');
  }

  finish(): void {
    if (this.#problems.length > 0) throw new QueryError('BadRequest', this.#problems.join('; '));
  }
}
