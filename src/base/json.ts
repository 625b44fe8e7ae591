import { isRawNumber } from './lossless-json.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/**
 * The value under a key that comes from outside. Every object inherits `constructor` and a dozen other names, which
 * `object[key]` would give too.
 */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value at a path of object keys, or undefined where a step is missing or is not an object. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  let current = root;
  for (const step of path) {
    if (!isJsonObject(current) || !Object.hasOwn(current, step)) return undefined;
    current = current[step];
  }
  return current;
}

/** Object keys sorted at every depth, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  if (hasSortedKeys(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, nested: unknown) => (isJsonObject(nested) ? sorted(nested) : nested));
}

/** Whether canonicalJson has nothing to sort, as in all that the API server writes. */
export function hasSortedKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(hasSortedKeys);
  let previous: string | undefined;
  for (const key in value) {
    if (previous !== undefined && key < previous) return false;
    previous = key;
    if (!hasSortedKeys((value as JsonObject)[key])) return false;
  }
  return true;
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(sortedByKey(Object.entries(object)));
}

/** By their keys, which are all different. Themselves where nothing is to be sorted, as the API server writes them. */
export function sortedByKey<Entry extends readonly [key: string, value: unknown]>(
  entries: readonly Entry[],
): readonly Entry[] {
  for (let index = 1; index < entries.length; index += 1) {
    if ((entries[index - 1]?.[0] ?? '') > (entries[index]?.[0] ?? '')) {
      return entries.toSorted((left, right) => (left[0] < right[0] ? -1 : 1));
    }
  }
  return entries;
}

type Same = (left: unknown, right: unknown) => boolean;

/**
 * Whether two JSON values are equal; the order of keys does not matter. `same` says which of their parts are equal without
 * a look inside. Needs no stack, however deep they are.
 */
export function sameJson(left: unknown, right: unknown, same: Same = Object.is): boolean {
  const pairs: [unknown, unknown][] = [[left, right]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const children = childrenOf(...pair, same);
    if (children === undefined) return false;
    for (const child of children) pairs.push(child);
  }
  return true;
}

/** The pairs that are left to compare; undefined where the two differ already. */
function childrenOf(left: unknown, right: unknown, same: Same): readonly [unknown, unknown][] | undefined {
  if (same(left, right)) return [];
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length ? left.map((item, index) => [item, right[index]]) : undefined;
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return undefined;
  const keys = definedKeys(left);
  if (keys.length !== definedKeys(right).length || !keys.every((key) => Object.hasOwn(right, key))) return undefined;
  return keys.map((key) => [left[key], right[key]]);
}

function definedKeys(object: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}
