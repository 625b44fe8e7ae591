import { FINALIZER } from '../../src/api/names.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';

/** Whether our finalizer is on the object itself; finalizers elsewhere in it, as in pod templates, do not count. */
export function isGuarded(object: JsonObject | undefined): boolean {
  const finalizers = valueAt(object, ['metadata', 'finalizers']);
  return Array.isArray(finalizers) && finalizers.includes(FINALIZER);
}
