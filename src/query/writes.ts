// The writes: putting an object back, asking for its deletion, and what changes objects that are in MySQL only. Each
// needs the user's right on the original kind; what they do is the business of the port.
import * as z from 'zod';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { bodyAs, dryRunFlag, optionalText, readJsonBody } from './body.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError, queryErrorOf } from './errors.ts';
import { objectDocument } from './list.ts';
import { selection } from './list-query.ts';
import { parseListRequest, refuseParameters } from './list-request.ts';
import { parseMetadataPatch } from './metadata-patch.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { negotiateShape } from './negotiate.ts';
import type { QueryAppOptions } from './options.ts';
import type { Collection, ObjectTarget } from './paths.ts';

export class Writer {
  readonly #options: QueryAppOptions;

  constructor(options: QueryAppOptions) {
    this.#options = options;
  }

  /** The answer of a restore shows the object, so the user needs the right to read it too. */
  async restore(target: ObjectTarget, context: Context): Promise<void> {
    const { authorizer, writes, logger } = this.#options;
    const { query, time, user } = context;
    const { kind, namespace, name } = target;
    refuseParameters(query, ['dryRun', 'uid']);
    await time.within(authorizer.require(user, { verb: 'get', kind, namespace, name }, time.signal));
    await time.within(authorizer.require(user, { verb: 'create', kind, namespace }, time.signal));
    const { uid, dryRun } = bodyAs(restoreOptions, withQuery(await readJsonBody(context.request), query, ['uid']));
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
    const { preconditions, propagationPolicy, dryRun } = bodyAs(
      deleteOptions.extend({ preconditions: preconditionsForm }),
      withQuery(await readJsonBody(context.request), query, ['propagationPolicy']),
    );
    const order = { ...preconditions, propagationPolicy, dryRun, requester: user.name };
    const { outcome, uid } = await time.within(writes.delete(target, order));
    logger.info({ kind: kind.kind, namespace, name, uid, user: user.name, dryRun, outcome }, 'Deletion asked for');
    sendJson(context, accepted(target, uid, outcome), outcome === 'marked' ? 202 : 200);
  }

  /** The answer shows the object, so the user needs the right to read it too. */
  async patch(target: ObjectTarget, context: Context): Promise<void> {
    const { authorizer, writes, logger, clock } = this.#options;
    const { query, request, time, user } = context;
    const { kind, namespace, name } = target;
    refuseParameters(query, ['dryRun']);
    const shape = negotiateShape(request.headers.accept);
    for (const verb of ['get', 'patch'] as const) {
      await time.within(authorizer.require(user, { verb, kind, namespace, name }, time.signal));
    }
    const patch = parseMetadataPatch(await readJsonBody(request, 'application/merge-patch+json'), target);
    const { dryRun } = bodyAs(patchOptions, withQuery({}, query));
    const stored = await time.within(writes.change(target, { ...patch, dryRun }));
    const { uid, resourceVersion } = stored;
    logger.info({ kind: kind.kind, namespace, name, uid, user: user.name, dryRun }, 'Change of metadata asked for');
    sendJson(
      context,
      objectDocument(stored, { kind, shape, includeObject: 'Metadata', resourceVersion, now: clock.now() }),
    );
  }

  /** The answer says how many objects match, so the user needs the right to list them too. */
  async deleteCollection(collection: Collection, context: Context): Promise<void> {
    const { authorizer, writes, logger } = this.#options;
    const { query, request, time, user } = context;
    const { kind, namespace } = collection;
    if (namespace === undefined)
      throw new QueryError('BadRequest', 'a collection is deleted in one namespace: name it');
    const asked = parseListRequest(query, 'deletion');
    const selected = selection(collection, undefined, asked);
    if (selected.where === undefined && asked.labels.length === 0) throw new QueryError('BadRequest', SELECT);
    for (const verb of ['list', 'deletecollection'] as const) {
      await time.within(authorizer.require(user, { verb, kind, namespace }, time.signal));
    }
    const { dryRun } = bodyAs(deleteOptions, withQuery(await readJsonBody(request), query));
    const limit = asked.limit === undefined ? {} : { limit: asked.limit };
    const order = { ...selected, ...limit, namespace, dryRun, signal: time.signal };
    const logged = writes.deleteCollection(kind, order).then((result) => {
      const { deleted } = result;
      logger.info({ kind: kind.kind, namespace, user: user.name, dryRun, deleted }, 'Collection deleted');
      return result;
    });
    const { deleted, remaining, names } = await time.within(logged).catch((error: unknown) => {
      throw dryRun ? error : notToRepeat(queryErrorOf(error));
    });
    const outcome = dryRun ? 'would be deleted' : 'deleted';
    const named = names === undefined ? {} : { names: [...names] };
    const result = { outcome, count: deleted, remaining, ...named };
    sendJson(context, { kind: 'CollectionDeletion', apiVersion: STORED_GROUP_VERSION, ...result });
  }
}

/** Clients repeat by themselves what says when: they would delete more than was asked for. */
function notToRepeat(error: QueryError): QueryError {
  const { retryAfterSeconds, ...details } = error.details;
  if (retryAfterSeconds === undefined) return error;
  const message = `${error.message}; some may be deleted already: list them before you delete again`;
  return new QueryError(error.reason, message, details);
}

const SELECT =
  'say which objects go, with a labelSelector or a fieldSelector; fieldSelector=metadata.namespace=<it> is all of a namespace';

const object = { error: 'is an object' };
const ignored = z.unknown().optional();
const POLICIES = ['Orphan', 'Background', 'Foreground'] as const;
const patchOptions = z.strictObject({ dryRun: dryRunFlag }, object);
const restoreOptions = patchOptions.extend({ uid: optionalText });
const preconditionsForm = z
  .strictObject({ uid: optionalText, resourceVersion: optionalText }, object)
  .nullish()
  .transform((given) => ({ uid: given?.uid, resourceVersion: given?.resourceVersion }));
/** What Kubernetes' clients send with a deletion; what says nothing here is taken, too. */
const deleteOptions = z.strictObject(
  {
    apiVersion: ignored,
    kind: ignored,
    propagationPolicy: optionalText.pipe(z.enum(POLICIES, { error: `is one of ${POLICIES.join(', ')}` }).optional()),
    dryRun: dryRunFlag,
    gracePeriodSeconds: ignored,
    orphanDependents: ignored,
    ignoreStoreReadErrorWithClusterBreakingPotential: ignored,
  },
  object,
);

/** The body with what the parameters of the request say; `dryRun` is what either of them says. */
function withQuery(body: unknown, query: URLSearchParams, names: readonly string[] = []): unknown {
  if (!isJsonObject(body ?? {})) return body;
  const given = { ...(body as JsonObject | undefined) };
  const dryRun = query.getAll('dryRun');
  return {
    ...Object.fromEntries(names.map((name) => [name, query.get(name)])),
    ...given,
    ...(dryRun.length === 0 ? {} : { dryRun: [given['dryRun'] ?? false, dryRun].flat() }),
  };
}

function accepted({ kind, name }: ObjectTarget, uid: string, outcome: 'marked' | 'deleted'): JsonObject {
  const message =
    outcome === 'marked'
      ? 'marked for deletion; it goes once MySQL has its final state'
      : 'it was in MySQL only, and is deleted there';
  const details = { name, group: STORED_GROUP, kind: kind.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', message, details };
}
