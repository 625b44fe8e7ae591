import type { KindDefinition } from '../api/kind.ts';
import { LAST_APPLIED_ANNOTATION, PRIMARY_KEY_ANNOTATION } from '../api/names.ts';
import { type KubernetesObject, type ObjectMeta, withoutManagedFields } from '../api/object.ts';
import { isStoredAsText, storable } from '../api/storable.ts';
import { CodedError, messageOf } from '../base/errors.ts';
import { contentHash } from '../base/hash.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { encodeObject } from '../proto/encode.ts';
import type { LeftOut, OnLeftOut } from '../proto/left-out.ts';
import { columnValues, NO_TIME, storableTime, unfitColumns } from '../storage/columns.ts';
import { namedPairs } from '../storage/owners.ts';
import type { ObjectRow } from '../storage/row.ts';
import { maskedValues, type SensitiveValues, sealObject } from '../storage/sensitive.ts';

/** JSON of the object → protobuf bytes of its kind; what they do not have is told. */
export type ProtoEncoder = (kind: string, object: JsonObject, onLeftOut: OnLeftOut) => Uint8Array;

/** Everything MySQL gets to know about this state of the object. */
export function toRow(
  kind: KindDefinition,
  object: KubernetesObject,
  encode: ProtoEncoder,
  sensitive: SensitiveValues = maskedValues,
): ObjectRow {
  const stored = storedForm(kind, object, sensitive);
  const json = JSON.stringify(stored);
  const { metadata } = stored;
  const columns = columnValues(kind, stored);
  const owners = namedPairs(stored);
  const leftOut: LeftOut[] = [];
  const proto = encode(kind.kind, stored as JsonObject, (left) => leftOut.push(left));
  const wanted = wantedKey(metadata);
  const unfit = [
    ...wanted.unfit,
    ...unfitColumns(kind, stored, columns),
    ...(isStoredAsText(stored) ? ['json'] : []),
    ...(leftOut.length === 0 ? [] : ['proto']),
  ];
  return {
    kind,
    uid: metadata.uid,
    ...wanted.row,
    groupVersion: stored.apiVersion,
    namespace: metadata.namespace,
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    createTime: storableTime(metadata.creationTimestamp) ?? NO_TIME,
    proto,
    json,
    contentHash: contentHash(stored, json),
    columns,
    ...(unfit.length === 0 ? {} : { unfit }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
    labels: Object.entries(metadata.labels ?? {}),
    ...(owners.length === 0 ? {} : { owners }),
    annotations: Object.entries(metadata.annotations ?? {}),
  };
}

/** As in a uid: what a column of this width holds, and what is compared byte by byte. */
const fitsKey = /^[!-~]{1,64}$/;

function wantedKey({ annotations, uid }: ObjectMeta): {
  readonly row: Pick<ObjectRow, 'key'>;
  unfit: readonly string[];
} {
  const key = annotations?.[PRIMARY_KEY_ANNOTATION] ?? '';
  if (key === '' || key === uid) return { row: {}, unfit: [] };
  return fitsKey.test(key) ? { row: { key }, unfit: [] } : { row: {}, unfit: ['uid'] };
}

/**
 * The object as it is stored: as received, without managedFields (noise that changes with every write), without
 * kubectl's copy of the manifest (which repeats secrets), what is nested too deeply as text, and sensitive values masked
 * or sealed.
 */
export function storedForm(
  kind: KindDefinition,
  object: KubernetesObject,
  sensitive: SensitiveValues,
): KubernetesObject {
  const metadata = withoutLastApplied(withoutManagedFields(object.metadata));
  const stored = metadata === object.metadata ? object : { ...object, metadata };
  return sealObject(kind, storable(stored) as JsonObject, sensitive) as KubernetesObject;
}

/** No annotations at all where none is left. The order of the keys stays. */
function withoutLastApplied(metadata: ObjectMeta): ObjectMeta {
  const { annotations: received } = metadata;
  if (received === undefined) return metadata;
  if (!Object.hasOwn(received, LAST_APPLIED_ANNOTATION) && Object.keys(received).length > 0) return metadata;
  const kept = Object.entries(received).filter(([key]) => key !== LAST_APPLIED_ANNOTATION);
  if (kept.length > 0) return { ...metadata, annotations: Object.fromEntries(kept) };
  const { annotations: _, ...rest } = metadata;
  return rest;
}

/**
 * The protobuf form for readers of the original's `proto` column. An object of a kind without a definition is stored with
 * an empty one: the json column is complete, and refusing the object would leave it without a row and undeletable.
 */
export function lenientEncoder(logger: Logger): ProtoEncoder {
  return (kind, object, onLeftOut) => {
    try {
      return encodeObject(kind, object, onLeftOut);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      logger.warn({ kind, reason: messageOf(error) }, 'Stored without its protobuf form; the json column is complete');
      return new Uint8Array();
    }
  };
}
