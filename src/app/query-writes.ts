// The writes of the query API, as the original's API server makes them: a deletion is an annotation that the reconciler
// acts on, a restore creates the object anew. Whoever asked is noted on the object.
import { DELETING_ANNOTATION, PROPAGATION_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import { type CodedError, messageOf } from '../base/errors.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { QueryError, type QueryReason } from '../query/errors.ts';
import { notFound } from '../query/reads.ts';
import type { DeleteOrder, QueryWrites, WriteTarget } from '../query/write-port.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { NothingStoredError, NotRestorableError, RestoreConflictError } from '../sync/errors.ts';
import { restore } from '../sync/restore.ts';
import { resourceOf } from './kinds.ts';

export interface QueryWritesParts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly sensitive: SensitiveValues;
  readonly clock: Clock;
}

/** Others may change the object between reading and marking it. */
const MOST_TRIES = 5;

export function createQueryWrites(parts: QueryWritesParts): QueryWrites {
  return {
    restore: async (target, { uid, dryRun, requester }) => {
      const { kind, namespace, name } = target;
      const resource = resourceOf(kind);
      const request = { kind, namespace, name, uid, dryRun, requestedBy: requester };
      const { missing, dropped, ...done } = await told(target, () => restore(request, { ...parts, resource }));
      return { ...done, missing: [...missing], dropped: [...dropped] };
    },
    delete: (target, order) => told(target, () => deleteObject(target, order, parts)),
  };
}

async function deleteObject(
  target: WriteTarget,
  order: DeleteOrder,
  parts: QueryWritesParts,
): Promise<{ readonly outcome: 'marked' | 'deleted'; uid: string }> {
  const { kind, namespace, name } = target;
  const ref: ObjectRef = { resource: resourceOf(kind), namespace, name };
  for (let tries = 1; ; tries += 1) {
    const live = await current(parts.client, ref);
    if (live === undefined) return deleteEvicted(target, order, parts);
    try {
      return await mark(ref, live, order, parts.client);
    } catch (error) {
      const theirs = order.resourceVersion !== undefined || tries === MOST_TRIES;
      if (!isKubeError(error, 'Conflict') || theirs) throw error;
    }
  }
}

async function mark(
  ref: ObjectRef,
  { metadata }: KubernetesObject,
  { uid, resourceVersion, propagationPolicy, dryRun, requester }: DeleteOrder,
  client: KubeClient,
): Promise<{ readonly outcome: 'marked'; uid: string }> {
  refuseOther({ uid, resourceVersion }, metadata);
  const annotations = {
    [DELETING_ANNOTATION]: 'true',
    [REQUESTED_BY_ANNOTATION]: requester,
    ...(propagationPolicy === undefined ? {} : { [PROPAGATION_ANNOTATION]: propagationPolicy }),
  };
  const patch = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, annotations } };
  await client.mergePatch(ref, patch, { dryRun });
  return { outcome: 'marked', uid: metadata.uid };
}

/** What is not in the cluster any more is deleted in the database, which keeps it for the record. */
async function deleteEvicted(
  target: WriteTarget,
  { uid, resourceVersion, dryRun }: DeleteOrder,
  { storage, clock }: QueryWritesParts,
): Promise<{ readonly outcome: 'deleted'; uid: string }> {
  const { kind, namespace, name } = target;
  const stored = await storage.getByName(kind, namespace, name);
  if (stored === undefined || stored.state === 'deleted') throw notFound(target);
  refuseOther({ uid, resourceVersion }, stored);
  if (stored.state !== 'evicted') {
    throw new QueryError('Conflict', `"${name}" is leaving the cluster; try again in a moment`, { name });
  }
  const where = { field: 'metadata.uid', operator: '=', value: stored.uid } as const;
  if (!dryRun) await storage.deleteCollection(kind, { namespace, states: ['evicted'], where }, clock.now());
  return { outcome: 'deleted', uid: stored.uid };
}

interface Identity {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

function refuseOther(wanted: Identity, found: { readonly uid: string; readonly resourceVersion: string }): void {
  for (const key of ['uid', 'resourceVersion'] as const) {
    if (wanted[key] === undefined || wanted[key] === found[key]) continue;
    throw new QueryError('Conflict', `the precondition ${key} is ${wanted[key]}, but the object has ${found[key]}`);
  }
}

async function current(client: KubeClient, ref: ObjectRef): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(ref);
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}

const reasons: readonly (readonly [new (...args: never[]) => CodedError, QueryReason])[] = [
  [NothingStoredError, 'NotFound'],
  [NotRestorableError, 'Conflict'],
  [RestoreConflictError, 'Conflict'],
];

/** What the caller can be told, in the words of the API. */
async function told<T>({ kind, name }: WriteTarget, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = reasons.find(([type]) => error instanceof type);
    const details = { plural: kind.plural, name, cause: error };
    if (known !== undefined) throw new QueryError(known[1], messageOf(error), details);
    if (isKubeError(error, 'Conflict')) {
      throw new QueryError('Conflict', 'somebody else changed the object; try again', details);
    }
    if (isKubeError(error, 'Forbidden') || isKubeError(error, 'Invalid')) {
      throw new QueryError('Forbidden', `the cluster refused it: ${messageOf(error)}`, details);
    }
    throw error;
  }
}
