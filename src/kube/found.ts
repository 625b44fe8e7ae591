// Reads of what may be gone by now.
import type { Identity, KubernetesObject } from '../api/object.ts';
import type { KubeClient, Resource } from './client.ts';
import { isKubeError } from './errors.ts';

/** What the call answers; undefined where the API server does not have what it names. */
export async function ifFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Undefined where the object is gone, also when another one has its name. */
export async function getSame(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  { uid, namespace = '', name }: Omit<Identity, 'resourceVersion'>,
): Promise<KubernetesObject | undefined> {
  const found = await ifFound(client.get({ resource, namespace, name }));
  return found?.metadata.uid === uid ? found : undefined;
}
