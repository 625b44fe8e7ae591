import type { KindDefinition } from '../api/kind.ts';
import { LAST_APPLIED_ANNOTATION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { sha256Hex } from '../base/hash.ts';
import { isJsonObject, type JsonObject, valueAt } from '../base/json.ts';
import type { ObjectRow } from '../storage/row.ts';
import { columnValues } from './columns.ts';

/** JSON of the object → protobuf bytes of its kind. */
export type ProtoEncoder = (kind: string, object: JsonObject) => Uint8Array;

const REDACTED = '[redacted]';

/** Everything MySQL gets to know about this state of the object. */
export function toRow(kind: KindDefinition, object: KubernetesObject, encode: ProtoEncoder): ObjectRow {
  const stored = storedForm(kind, object);
  const json = JSON.stringify(stored);
  const { metadata } = stored;
  return {
    kind,
    uid: metadata.uid,
    groupVersion: object.apiVersion,
    namespace: metadata.namespace,
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    createTime: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
    proto: encode(kind.kind, stored as JsonObject),
    json,
    contentHash: sha256Hex(json),
    columns: columnValues(kind, stored),
    labels: Object.entries(metadata.labels ?? {}),
    annotations: Object.entries(metadata.annotations ?? {}),
  };
}

/**
 * The object as it is stored: as received, without managedFields (noise that changes with every write), without
 * kubectl's copy of the manifest (which repeats secrets), and with sensitive values masked.
 */
function storedForm(kind: KindDefinition, object: KubernetesObject): KubernetesObject {
  const { managedFields: _, annotations, ...metadata } = object.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED_ANNOTATION);
  const stored: KubernetesObject = {
    ...object,
    metadata: kept.length === 0 ? metadata : { ...metadata, annotations: Object.fromEntries(kept) },
  };
  return kind.sensitive.reduce(mask, stored);
}

/** A copy with the value at the path replaced; the object itself where there is nothing to hide. */
function mask(object: KubernetesObject, path: readonly string[]): KubernetesObject {
  const value = valueAt(object, path);
  if (value === undefined || value === '') return object;
  return replaceAt(object as JsonObject, path) as KubernetesObject;
}

function replaceAt(object: JsonObject, [step = '', ...rest]: readonly string[]): JsonObject {
  const child = object[step];
  return { ...object, [step]: isJsonObject(child) && rest.length > 0 ? replaceAt(child, rest) : REDACTED };
}
