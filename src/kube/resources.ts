// Resources of Kubernetes itself that this program reads or writes.
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject } from '../base/json.ts';
import type { ObjectRef, Resource } from './client.ts';

export const apiServices: Resource = { group: 'apiregistration.k8s.io', version: 'v1', plural: 'apiservices' };
export const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };
export const deployments: Resource = { group: 'apps', version: 'v1', plural: 'deployments' };
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};
/** As all clients may list them; `events` is how they are written. */
export const coreEvents: Resource = { group: '', version: 'v1', plural: 'events' };
export const events: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
export const leases: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
export const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces' };
export const pods: Resource = { group: '', version: 'v1', plural: 'pods' };
export const secrets: Resource = { group: '', version: 'v1', plural: 'secrets' };
export const selfSubjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
};
export const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
};
export const tokenReviews: Resource = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' };

// ConfigMaps hold what the parts of this program and its operators tell each other.

export function configMapRef(namespace: string, name: string): ObjectRef {
  return { resource: configMaps, namespace, name };
}

/** Empty where the ConfigMap has no data, or is not there. */
export function dataOf(configMap: KubernetesObject | undefined): Readonly<Record<string, string>> {
  const data = configMap?.['data'];
  return isJsonObject(data) ? (data as Readonly<Record<string, string>>) : {};
}
