// The API server in memory, with the two things that the lifecycle controller relies on besides: labels are selected by,
// and what is deleted in the foreground stays until it was collected.
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { DeleteOptions, ListOptions, ListPage, ObjectRef, Resource } from '../../../src/kube/client.ts';
import { FakeApiServer } from '../fake-api-server.ts';

export class MemoryServer extends FakeApiServer {
  override async list(resource: Resource, options: ListOptions): Promise<ListPage> {
    const page = await super.list(resource, options);
    const [label = '', value] = options.labelSelector?.split('=') ?? [];
    const items = page.items.filter((item) => label === '' || item.parse().metadata.labels?.[label] === value);
    return { ...page, items };
  }

  override async delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    const known: KubernetesObject = await this.get(ref);
    const isFirst = known.metadata.deletionTimestamp === undefined;
    if (
      options.propagationPolicy === 'Foreground' &&
      isFirst &&
      known.metadata.uid === (options.uid ?? known.metadata.uid)
    )
      await this.mergePatch(ref, { metadata: { finalizers: ['foregroundDeletion'] } });
    await super.delete(ref, options);
  }
}
