import type { KindDefinition } from '../api/kind.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { ifFound } from '../kube/found.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { inParallel } from './in-parallel.ts';

export interface Named {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Which of these names belong to an evicted object: MySQL says so and the API server has nothing under that name. Both
 * are asked in any case, so that the answer never depends on who happened to be reachable. Every failure is an error.
 */
export async function findArchived<T extends Named>(
  { client, storage }: { readonly client: KubeClient; readonly storage: MetadataStorage },
  names: readonly T[],
): Promise<readonly T[]> {
  const [first] = names;
  if (first === undefined) return [];
  await client.list(first.resource, { namespace: first.namespace, limit: 1, metadataOnly: true }, never);
  const archived = await inParallel(names, async ({ kind, resource, namespace, name }) => {
    const stored = await storage.getByName(kind, namespace, name);
    return stored?.state === 'evicted' && (await ifFound(client.get({ resource, namespace, name }))) === undefined;
  });
  return names.filter((_, index) => archived[index]);
}

const never = new AbortController().signal;
