// ConfigMaps hold what the parts of this program and its operators tell each other.
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject } from '../base/json.ts';
import type { ObjectRef } from './client.ts';
import { configMaps } from './resources.ts';

export function configMapRef(namespace: string, name: string): ObjectRef {
  return { resource: configMaps, namespace, name };
}

/** Empty where the ConfigMap has no data, or is not there. */
export function dataOf(configMap: KubernetesObject | undefined): Readonly<Record<string, string>> {
  const data = configMap?.['data'];
  return isJsonObject(data) ? (data as Readonly<Record<string, string>>) : {};
}
