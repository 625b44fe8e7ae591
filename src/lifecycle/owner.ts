// Whose an object is. Names and labels say nothing: only the uid of the controlling owner does.
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import type { Parent } from './children/names.ts';

export function isControlledBy(object: KubernetesObject, kind: string, uid: string): boolean {
  const owners = valueAt(object, ['metadata', 'ownerReferences']);
  if (!Array.isArray(owners)) return false;
  return owners.some(
    (owner) => isJsonObject(owner) && owner['controller'] === true && owner['kind'] === kind && owner['uid'] === uid,
  );
}

export function isOurs(object: KubernetesObject, { uid }: Parent): boolean {
  return isControlledBy(object, 'Ingester', uid);
}
