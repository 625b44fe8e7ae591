// Takes back an eviction that no rule asks for any more, while its object still lives: the row says evicting, so the
// object would end as evicted whoever deletes it, and at one version a row never turns back.
//
// Another process may be about to delete exactly this state, having chosen it before. So the object is changed, not the
// row: the DELETE of the state before fails on its precondition, or came first and the change fails on its own. The new
// state then makes the row live like any other.
import { EVICTION_WITHDRAWN_ANNOTATION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Flow } from './flow.ts';

export async function withdrawEviction(flow: Flow, object: KubernetesObject): Promise<void> {
  const { storage, client, clock, kind } = flow.options;
  const { uid, resourceVersion } = object.metadata;
  const stored = await storage.getById(kind, uid);
  if (stored?.state !== 'evicting' || stored.resourceVersion !== resourceVersion) return;
  const annotations = { [EVICTION_WITHDRAWN_ANNOTATION]: clock.now().toISOString() };
  await client.mergePatch(flow.ref(object), { metadata: { resourceVersion, annotations } });
  flow.log(object, 'info', 'No rule asks for the eviction any more: it is withdrawn');
}
