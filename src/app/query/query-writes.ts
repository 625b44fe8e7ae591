// The writes of the query API, as the original's API server makes them: a deletion is an annotation that the reconciler
// acts on, a restore creates the object anew. The requesting user is noted on the object. What is in MySQL only is
// written there.
import { DELETING_ANNOTATION, PROPAGATION_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { type CodedError, messageOf } from '../../base/errors.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError, type KubeReason } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { QueryError, type QueryReason } from '../../query/errors.ts';
import type { DeleteOrder, QueryWrites, WriteTarget } from '../../query/write-port.ts';
import { DirectUpdateRefusedError, ObjectMissingError, VersionConflictError } from '../../storage/errors.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import {
  NothingStoredError,
  NotRestorableError,
  RestoreConflictError,
  RestoreNamespaceMissingError,
} from '../../sync/errors.ts';
import { restore } from '../../sync/restore.ts';
import { resourceOf } from '../kinds.ts';
import {
  changeEvicted,
  deleteEvicted,
  deleteEvictedCollection,
  type EvictedWritesParts,
  MOST_TRIES,
  refuseOther,
} from './evicted-writes.ts';

export interface QueryWritesParts extends EvictedWritesParts {
  readonly sensitive: SensitiveValues;
}

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
    change: (target, order) => told(target, () => changeEvicted(target, order, parts)),
    deleteCollection: (kind, order) => deleteEvictedCollection(kind, order, parts),
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
    const live = await ifFound(parts.client.get(ref));
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

const reasons: readonly (readonly [new (...args: never[]) => CodedError, QueryReason])[] = [
  [NothingStoredError, 'NotFound'],
  [NotRestorableError, 'Conflict'],
  [RestoreConflictError, 'Conflict'],
  [RestoreNamespaceMissingError, 'NotFound'],
  [ObjectMissingError, 'NotFound'],
  [VersionConflictError, 'Conflict'],
  [DirectUpdateRefusedError, 'BadRequest'],
];

/** What a policy, a webhook, a quota or the schema says is for the user whose write it is. */
const refusals: readonly (readonly [KubeReason, QueryReason])[] = [
  ['NotFound', 'NotFound'],
  ['Forbidden', 'Forbidden'],
  ['Invalid', 'Forbidden'],
  ['Refused', 'Forbidden'],
];

/** Errors that the caller may see, with their reason in the API. */
async function told<T>({ kind, name }: WriteTarget, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = reasons.find(([type]) => error instanceof type);
    const details = { plural: kind.plural, name, cause: error };
    if (known !== undefined) throw new QueryError(known[1], messageOf(error), details);
    if (isKubeError(error, 'Conflict')) {
      throw new QueryError('Conflict', 'another client changed the object; try again', details);
    }
    const refusal = refusals.find(([reason]) => isKubeError(error, reason));
    if (refusal !== undefined) {
      throw new QueryError(refusal[1], `the cluster refused it: ${messageOf(error)}`, details);
    }
    throw error;
  }
}
