import { isJsonObject } from './json.ts';

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
