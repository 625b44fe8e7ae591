// Where in an object the values are that a part of a schema describes. Pure.
import { isJsonObject } from '../base/json.ts';

/** A key, or `each`: every item of a list and every value of a map. */
export type Step = { readonly key: string } | 'each';
export type Place = readonly Step[];

/** Whether there is any value at the place, null too. */
export function hasValueAt(value: unknown, [step, ...rest]: Place): boolean {
  if (step === undefined) return true;
  if (step !== 'each') {
    return isJsonObject(value) && Object.hasOwn(value, step.key) && hasValueAt(value[step.key], rest);
  }
  const inside = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return inside.some((each) => hasValueAt(each, rest));
}
