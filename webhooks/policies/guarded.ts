import { FINALIZER } from '../../src/api/names.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';

/** Whether our finalizer is on the object itself; finalizers elsewhere in it, as in pod templates, do not count. */
export function isGuarded(object: JsonObject | undefined): boolean {
  const finalizers = valueAt(object, ['metadata', 'finalizers']);
  return Array.isArray(finalizers) && finalizers.includes(FINALIZER);
}

/** Whether the object is being deleted. Only an object that is stored can say so: in a new one it is what a client likes. */
export function isDeleting(stored: JsonObject | undefined): boolean {
  return hasMetadata(stored, 'deletionTimestamp');
}

/** Null is what the API server takes for missing. */
export function hasMetadata(object: JsonObject | undefined, field: string): boolean {
  return (valueAt(object, ['metadata', field]) ?? undefined) !== undefined;
}
