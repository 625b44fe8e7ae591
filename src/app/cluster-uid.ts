// Which cluster this is. Kubernetes has no name for it; the uid of the namespace kube-system lives as long as its etcd.
import { messageOf } from '../base/errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { namespaces } from '../kube/resources.ts';
import { ClusterUnknownError } from '../storage/errors.ts';

/** Asks until there is an answer, and then no more. */
export function clusterUid(client: Pick<KubeClient, 'get'>): () => Promise<string> {
  let known: string | undefined;
  return async () => {
    known ??= await readUid(client);
    return known;
  };
}

async function readUid(client: Pick<KubeClient, 'get'>): Promise<string> {
  try {
    const { metadata } = await client.get({ resource: namespaces, namespace: '', name: 'kube-system' });
    return metadata.uid;
  } catch (error) {
    throw new ClusterUnknownError(messageOf(error), error);
  }
}
