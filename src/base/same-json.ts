import { isJsonObject } from './json.ts';

/** Whether two JSON values are equal; the order of keys does not matter. Needs no stack, however deep they are. */
export function sameJson(left: unknown, right: unknown): boolean {
  const pairs: [unknown, unknown][] = [[left, right]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const children = childrenOf(...pair);
    if (children === undefined) return false;
    for (const child of children) pairs.push(child);
  }
  return true;
}

/** The pairs that are left to compare; undefined where the two differ already. */
function childrenOf(left: unknown, right: unknown): readonly [unknown, unknown][] | undefined {
  if (Object.is(left, right)) return [];
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
