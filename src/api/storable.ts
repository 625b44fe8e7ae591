// Which JSON a row can hold, and what becomes of the rest: MariaDB takes 31 levels of objects and lists inside each other,
// MySQL 100 and keys of 65,535 bytes, readers of protobuf about 33 levels. A part beyond that is kept whole, as the text of
// its JSON:
//
//   {"input": {…31 levels…}}   →   {"input": {…29 levels, {"michelangelo/json": "{…}"}}}
//
// and the stored object has the label `michelangelo/stored-as-text`, by which it is found.
import { deepText, isContainer } from '../base/deep-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { STORED_AS_TEXT_LABEL } from './names.ts';
import type { KubernetesObject } from './object.ts';

/** Objects and lists inside each other, the whole object among them. */
export const MAX_DEPTH = 30;
export const MAX_KEY_BYTES = 65_535;
const TEXT_KEY = 'michelangelo/json';

/** Looks no deeper than a row can hold. */
export function isStorable(value: unknown, levels: number = MAX_DEPTH): boolean {
  if (!isContainer(value)) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isStorable(item, levels - 1));
  for (const key in value) {
    if (isTooLong(key) || !isStorable(value[key], levels - 1)) return false;
  }
  return true;
}

/** The object itself where a row can hold it; else one that says the same and can be stored. */
export function storable(object: KubernetesObject): KubernetesObject {
  if (isStorable(object)) return object;
  const { metadata } = object;
  const labels = { ...metadata.labels, [STORED_AS_TEXT_LABEL]: 'true' };
  const fields = Object.entries(object).map(([key, value]) => [key, shallow(value as JsonValue, MAX_DEPTH - 1)]);
  return { ...(Object.fromEntries(fields) as KubernetesObject), metadata: { ...metadata, labels } };
}

export function isStoredAsText({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[STORED_AS_TEXT_LABEL] !== undefined;
}

/** What `storable` was given. */
export function asReceived(stored: JsonObject): JsonObject {
  const { metadata } = stored;
  if (!isJsonObject(metadata) || !isJsonObject(metadata['labels'])) return stored;
  const { [STORED_AS_TEXT_LABEL]: mark, ...labels } = metadata['labels'];
  if (mark === undefined) return stored;
  const { labels: _, ...others } = metadata;
  const received = Object.keys(labels).length === 0 ? others : { ...others, labels };
  return { ...(whole(stored) as JsonObject), metadata: received };
}

function shallow(value: JsonValue, levels: number): JsonValue {
  if (!isContainer(value)) return value;
  const isLast = levels === 1 && childrenOf(value).some(isContainer);
  if (isLast || (!Array.isArray(value) && Object.keys(value).some(isTooLong))) return { [TEXT_KEY]: deepText(value) };
  return mapped(value, (child) => shallow(child, levels - 1));
}

function whole(value: JsonValue): JsonValue {
  if (!isContainer(value)) return value;
  const text = Array.isArray(value) ? undefined : value[TEXT_KEY];
  return typeof text === 'string' ? (parseLossless(text) as JsonValue) : mapped(value, whole);
}

function mapped(value: JsonObject | JsonValue[], change: (child: JsonValue) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(change);
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, child === undefined ? child : change(child)]),
  );
}

function childrenOf(value: JsonObject | JsonValue[]): readonly (JsonValue | undefined)[] {
  return Array.isArray(value) ? value : Object.values(value);
}

/** A UTF-16 unit is at most three bytes. */
function isTooLong(key: string): boolean {
  return key.length * 3 > MAX_KEY_BYTES && Buffer.byteLength(key) > MAX_KEY_BYTES;
}
