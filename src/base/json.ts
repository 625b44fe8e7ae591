import { isRawNumber } from './lossless-json.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
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
  return JSON.stringify(value, (_key, nested: unknown) => (isJsonObject(nested) ? sorted(nested) : nested));
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1)));
}
