// How a flow asks the breaker, so that what counts is a row that was newly ended: not an attempt, and not a repetition.
import { isBornDeleting, type KubernetesObject } from '../../api/object.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';
import type { WriteOutcome } from '../../storage/metadata-storage.ts';
import type { Ending } from './ending.ts';
import type { Flow } from './flow.ts';

/** While a breaker is open, how often it is looked whether it still is. */
const PAUSED_MS = 10_000;

/** Ends the row, or stores the object and waits where deletions are held. */
export async function endRow(
  flow: Flow,
  object: KubernetesObject,
  { ending, write }: { readonly ending: Ending; readonly write: () => Promise<WriteOutcome> },
): Promise<{ readonly outcome: WriteOutcome } | { readonly held: string }> {
  const { breaker } = flow.options;
  const { uid, namespace } = object.metadata;
  if (breaker === undefined || !(await endsRow(flow, object, ending))) return { outcome: await write() };
  const held = breaker.admit({ uid, namespace });
  if (held !== undefined) return { held };
  let outcome: WriteOutcome | undefined;
  try {
    outcome = await write();
    return { outcome };
  } finally {
    if (outcome === undefined || outcome === 'stale') breaker.takeBack(uid);
  }
}

/** Whether this end of the object newly marks its row as deleted; what never was alive does not count. */
async function endsRow({ options }: Flow, object: KubernetesObject, ending: Ending): Promise<boolean> {
  if (ending === 'evicted' || isBornDeleting(object)) return false;
  const stored = await options.storage.getById(options.kind, object.metadata.uid);
  if (stored === undefined || stored.state === 'live') return true;
  return ending === 'deleted' && stored.state === 'evicting';
}

export async function holdDeletion(flow: Flow, object: KubernetesObject, because: string): Promise<ReconcileResult> {
  await flow.options.storage.upsert(flow.row(object));
  flow.options.recordEvent?.(object, 'DeletionsPaused', because);
  return { kind: 'requeue-after', delayMs: PAUSED_MS };
}
