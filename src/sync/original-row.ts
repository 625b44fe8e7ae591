// Rows that the original wrote, read as objects again. Every row gets through: what is missing is put together from what
// is there, json before protobuf before the columns.
import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import { isMarkedImmutable, type KubernetesObject } from '../api/object.ts';
import { CodedError } from '../base/errors.ts';
import { contentHash } from '../base/hash.ts';
import { canonicalJson, isJsonObject, type JsonObject } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { decodeObject } from '../proto/decode.ts';
import { encodeObject } from '../proto/encode.ts';
import { columnValues, NO_TIME, storableTime } from '../storage/columns.ts';
import type { AdoptedRow, OriginalRow } from '../storage/original.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { storedForm } from './row.ts';

export function readOriginal(kind: KindDefinition, row: OriginalRow, sensitive: SensitiveValues): AdoptedRow {
  const content = fromJson(row) ?? fromProto(kind, row);
  const object = completed(kind, row, content ?? fromPairs(row));
  const stored = storedForm(kind, object, sensitive);
  const { metadata } = stored;
  const same = content !== undefined && canonicalJson(content) === canonicalJson(stored);
  return {
    uid: metadata.uid,
    groupVersion: stored.apiVersion,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: Number.isSafeInteger(metadata.generation) ? Number(metadata.generation) : 0,
    createTime: row.createTime ?? storableTime(metadata.creationTimestamp) ?? NO_TIME,
    json: (same ? row.json : null) ?? JSON.stringify(stored),
    proto: (same ? row.proto : null) ?? encoded(kind, stored, row.proto),
    contentHash: contentHash(stored),
    columns: content === undefined ? undefined : columnValues(kind, stored),
    evicting: isEvicted(kind, row, object),
  };
}

/** Every object of an immutable kind that the original saw, and every marked one, is in its database only. */
function isEvicted(kind: KindDefinition, { deleteTime }: OriginalRow, object: KubernetesObject): boolean {
  return deleteTime === undefined && (kind.immutable || isMarkedImmutable(object));
}

function fromJson({ json }: OriginalRow): JsonObject | undefined {
  const parsed = json === null ? undefined : parseLossless(json);
  return isJsonObject(parsed) ? parsed : undefined;
}

function fromProto(kind: KindDefinition, { proto }: OriginalRow): JsonObject | undefined {
  if (proto === null || proto.length === 0) return undefined;
  try {
    return decodeObject(kind.kind, proto);
  } catch (error) {
    if (error instanceof CodedError) return undefined;
    throw error;
  }
}

function fromPairs({ labels, annotations }: OriginalRow): JsonObject {
  return { metadata: { labels: { ...labels }, annotations: { ...annotations } } };
}

/** The original left out kind and apiVersion, and some of its rows have no more than columns. */
function completed(kind: KindDefinition, row: OriginalRow, content: JsonObject): KubernetesObject {
  const metadata = isJsonObject(content['metadata']) ? content['metadata'] : {};
  const { createTime } = row;
  return {
    ...content,
    apiVersion: text(content['apiVersion']) ?? text(row.groupVersion) ?? `${GROUP}/${VERSION}`,
    kind: text(content['kind']) ?? kind.kind,
    metadata: {
      ...(createTime === undefined ? {} : { creationTimestamp: `${createTime.slice(0, 19)}Z` }),
      ...metadata,
      uid: text(metadata['uid']) ?? row.uid,
      resourceVersion: text(metadata['resourceVersion']) ?? row.resourceVersion,
      namespace: text(row.namespace) ?? text(metadata['namespace']) ?? '',
      name: text(row.name) ?? text(metadata['name']) ?? '',
    },
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Bytes that say what the json says; the old ones could hold what was masked since, so they never stay beside it. */
function encoded(kind: KindDefinition, stored: KubernetesObject, proto: Uint8Array | null): Uint8Array {
  try {
    return encodeObject(kind.kind, stored, () => undefined);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return proto !== null && kind.sensitive.length === 0 ? proto : new Uint8Array();
  }
}
