import { EVICTION_ANNOTATION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { describeOwner, isTombstoned, ownerOf } from '../../gitops/owner.ts';
import type { StoredIdentity } from '../../storage/metadata-storage.ts';

export interface Retention {
  readonly reason: 'Retained' | 'RecreatedAfterEviction';
  /** For users: why the object stays in etcd, and what would let it go. */
  readonly note: string;
}

const allow = `annotate it with ${EVICTION_ANNOTATION}: Allow`;

/** Why an object that is stored for good stays in etcd all the same; undefined lets it go. */
export function retention(object: KubernetesObject): Retention | undefined {
  const wish = object.metadata.annotations?.[EVICTION_ANNOTATION];
  if (wish === 'Allow') return undefined;
  if (wish === 'Retain') return { reason: 'Retained', note: `It is annotated with ${EVICTION_ANNOTATION}: Retain.` };
  const owner = ownerOf(object);
  if (owner === undefined || isTombstoned(object, owner)) return undefined;
  return {
    reason: 'Retained',
    note: `${describeOwner(owner)} would create it again. To evict it, mark it in Git as skipped, or ${allow}.`,
  };
}

/** Another client recreates what is evicted: going on would be a fight without end, with a row for every round. */
export function retentionByHistory(
  object: KubernetesObject,
  incarnations: readonly Pick<StoredIdentity, 'uid' | 'state'>[],
): Retention | undefined {
  if (object.metadata.annotations?.[EVICTION_ANNOTATION] === 'Allow') return undefined;
  const owner = ownerOf(object);
  if (owner !== undefined && isTombstoned(object, owner)) return undefined;
  const evicted = incarnations.find(({ uid, state }) => uid !== object.metadata.uid && state === 'evicted');
  if (evicted === undefined) return undefined;
  return {
    reason: 'RecreatedAfterEviction',
    note: `An object of this name was evicted before (uid ${evicted.uid}) and exists again. To evict it, ${allow}.`,
  };
}
