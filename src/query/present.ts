// A stored object as the API shows it: what was stored, under the group of this API, with annotations that say where
// it is. The annotations exist in answers only.
import type { KindDefinition } from '../api/kind.ts';
import { FINALIZER } from '../api/names.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { RowMismatchError } from '../storage/errors.ts';
import type { StoredObject } from '../storage/metadata-storage.ts';
import { maskedValues, sealObject } from '../storage/sensitive.ts';
import {
  CLUSTER_ANNOTATION,
  DELETE_TIME_ANNOTATION,
  EVICT_TIME_ANNOTATION,
  STATE_ANNOTATION,
  STORED_GROUP_VERSION,
  UPDATE_TIME_ANNOTATION,
} from './names.ts';

/** A stored object, with the name of its cluster where that is another one than the cluster that answers. */
export interface FoundObject extends StoredObject {
  readonly cluster?: string;
}

/** `live`: in etcd. `evicted`: in MySQL only. `deleted`: gone, and kept for the record. */
export type Whereabouts = 'live' | 'evicted' | 'deleted';

export function whereabouts({ state }: Pick<StoredObject, 'state'>): Whereabouts {
  return state === 'evicting' ? 'live' : state;
}

/** What the catalogue marks sensitive is masked, sealed or not: a row of another system may have it in the clear. */
export function presentObject(kind: KindDefinition, stored: FoundObject): JsonObject {
  const object = sealObject(kind, parseStored(stored), maskedValues);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  return { ...object, apiVersion: STORED_GROUP_VERSION, metadata: presentMetadata(stored, metadata) };
}

/** Kubernetes' PartialObjectMetadata of the same object. */
export function presentMetadataOnly(kind: KindDefinition, stored: FoundObject): JsonObject {
  const { metadata } = presentObject(kind, stored);
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

function presentMetadata(stored: FoundObject, metadata: JsonObject): JsonObject {
  const annotations = isJsonObject(metadata['annotations']) ? metadata['annotations'] : {};
  return {
    ...(stored.state === 'evicted' ? withoutEnd(metadata) : metadata),
    annotations: { ...annotations, ...marks(stored) },
  };
}

function marks(stored: FoundObject): JsonObject {
  const { cluster, deleteTime, evictTime, updateTime } = stored;
  return {
    ...(cluster === undefined ? {} : { [CLUSTER_ANNOTATION]: cluster }),
    [STATE_ANNOTATION]: whereabouts(stored),
    [UPDATE_TIME_ANNOTATION]: updateTime,
    ...(deleteTime === undefined ? {} : { [DELETE_TIME_ANNOTATION]: deleteTime }),
    ...(evictTime === undefined ? {} : { [EVICT_TIME_ANNOTATION]: evictTime }),
  };
}

/** The last state of an evicted object carries the deletion by which it left etcd; to its reader it is not being deleted. */
function withoutEnd(metadata: JsonObject): JsonObject {
  const { deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, finalizers, ...rest } = metadata;
  const others = Array.isArray(finalizers) ? finalizers.filter((finalizer) => finalizer !== FINALIZER) : [];
  return others.length === 0 ? rest : { ...rest, finalizers: others };
}

function parseStored({ json }: StoredObject): JsonObject {
  const object = parseLossless(json);
  if (!isJsonObject(object)) throw new RowMismatchError('the stored JSON is not an object');
  return object;
}
