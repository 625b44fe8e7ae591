import type { KindDefinition } from '../../api/kind.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { definitions } from '../../kube/resources.ts';

/** The CRD of the kind. Where it is not present, missing objects do not mean that a user deleted them. */
export type Definition =
  | { readonly state: 'terminating' | 'missing' }
  | {
      readonly state: 'present';
      /** Objects that are older went with the definition before it. Undefined where the API server does not say. */
      readonly since: Date | undefined;
    };

export async function definitionOf(client: Pick<KubeClient, 'list'>, kind: KindDefinition): Promise<Definition> {
  const fieldSelector = `metadata.name=${crdName(kind)}`;
  const page = await client.list(definitions, { fieldSelector, limit: 1, metadataOnly: true }, never);
  const [crd] = page.items;
  if (crd === undefined) return { state: 'missing' };
  const { creationTimestamp, deletionTimestamp } = crd.parse().metadata;
  if (deletionTimestamp !== undefined) return { state: 'terminating' };
  return { state: 'present', since: creationTimestamp === undefined ? undefined : new Date(creationTimestamp) };
}

const never = new AbortController().signal;
