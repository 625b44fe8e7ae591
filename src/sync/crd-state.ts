import type { KindDefinition } from '../api/kind.ts';
import { crdName } from '../api/kind-names.ts';
import type { KubeClient } from '../kube/client.ts';

const resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

/** The kind itself. Where it is not present, that objects are missing says nothing about what anybody wanted for them. */
export type Definition =
  | { readonly state: 'terminating' | 'missing' }
  | {
      readonly state: 'present';
      /** Objects that are older went with the definition before it. Undefined where the API server does not say. */
      readonly since: Date | undefined;
    };

export async function definitionOf(client: Pick<KubeClient, 'list'>, kind: KindDefinition): Promise<Definition> {
  const fieldSelector = `metadata.name=${crdName(kind)}`;
  const page = await client.list(resource, { fieldSelector, limit: 1, metadataOnly: true }, never);
  const [crd] = page.items;
  if (crd === undefined) return { state: 'missing' };
  const { creationTimestamp, deletionTimestamp } = crd.metadata;
  if (deletionTimestamp !== undefined) return { state: 'terminating' };
  return { state: 'present', since: creationTimestamp === undefined ? undefined : new Date(creationTimestamp) };
}

const never = new AbortController().signal;
