// Taking an object out of etcd for good. There is no moment at which it is neither guarded nor proven to be stored:
//
//   intent into MySQL → read back and compared → DELETE of exactly this state, dependants orphaned
//   → (the finalizer holds it) final state into MySQL → read back and compared → finalizer off
//
// The second line is the deletion flow. From the stored intent on, the object's end counts as eviction.

import { EVICTION_WITHDRAWN_ANNOTATION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import { type Flow, type Identified, preconditions, refuseStale } from './flow.ts';
import { proveStored } from './proof.ts';
import { type Retention, retention, retentionByHistory } from './retention.ts';

/** While eviction is paused, how often it is looked whether it still is. */
const PAUSED_MS = 30_000;
/** Incarnations of a name that are looked at, the latest first. */
const HISTORY = 10;

export async function evict(flow: Flow, object: KubernetesObject, cause: string): Promise<ReconcileResult> {
  const first = await flow.addFinalizerFirst(object);
  if (first !== undefined) return first;
  const { storage, client, clock, pace } = flow.options;
  const row = flow.row(object);
  if (pace?.paused() === true) {
    await storage.upsert(row);
    return { kind: 'requeue-after', delayMs: PAUSED_MS };
  }
  refuseStale(await storage.requestEviction(row, clock.now()), object);
  const retained = retention(object) ?? (await retentionOfName(flow, object));
  if (retained !== undefined) {
    retain(flow, object, retained);
    return done;
  }
  const waitMs = pace?.waitMs(object.metadata.uid) ?? 0;
  if (waitMs > 0) return { kind: 'requeue-after', delayMs: waitMs };
  flow.log(object, 'info', `Evicting the object from etcd because of ${cause}`);
  await proveStored(flow.options, row, ['evicting']);
  await flow.options.tombstones?.add(flow.options.kind, object, 'evicted');
  await client.delete(flow.ref(object), { ...preconditions(object), propagationPolicy: 'Orphan' });
  return done;
}

async function retentionOfName(flow: Flow, object: KubernetesObject): Promise<Retention | undefined> {
  const { storage, kind } = flow.options;
  const { namespace, name } = object.metadata;
  return retentionByHistory(object, await storage.incarnations(kind, namespace, name, HISTORY));
}

function retain(flow: Flow, object: KubernetesObject, { reason, note }: Retention): void {
  flow.log(object, 'info', `Stored for good, but kept in etcd: ${note}`);
  flow.options.recordEvent?.(object, reason, note);
}

// Takes back an eviction that no rule asks for any more, while its object still lives: the row says evicting, so the
// object would end as evicted by any delete, and at one version a row never turns back.
//
// Another process may be about to delete exactly this state, having chosen it before. So the object is changed, not the
// row: the DELETE of the state before fails on its precondition, or came first and the change fails on its own. The new
// state then makes the row live like any other.

export async function withdrawEviction(flow: Flow, object: Identified): Promise<void> {
  const { storage, client, clock, kind } = flow.options;
  const { uid, resourceVersion } = object.metadata;
  const stored = await storage.getById(kind, uid);
  if (stored?.state !== 'evicting' || stored.resourceVersion !== resourceVersion) return;
  const annotations = { [EVICTION_WITHDRAWN_ANNOTATION]: clock.now().toISOString() };
  await client.mergePatch(flow.ref(object), { metadata: { resourceVersion, annotations } });
  flow.log(object, 'info', 'No rule asks for the eviction any more: it is withdrawn');
}
