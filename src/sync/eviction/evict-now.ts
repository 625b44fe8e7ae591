import { hasFinalizer, type KubernetesObject, objectKey } from '../../api/object.ts';
import { sleep } from '../../base/clock.ts';
import { CodedError, messageOf } from '../../base/errors.ts';
import { getSame } from '../../kube/found.ts';
import { asWatched } from '../../kube/watched-object.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';
import type { StoredObject } from '../../storage/metadata-storage.ts';
import type { FlowOptions } from '../flows/flow.ts';
import { ObjectReconciler } from '../flows/reconciler.ts';
import type { Chosen } from './eviction-rules.ts';

export interface EvictedNow {
  readonly namespace: string;
  readonly name: string;
  readonly rule: string;
  readonly outcome: 'evicted' | 'retained' | 'changed' | 'failed';
  readonly reason?: string;
}

type Outcome = Pick<EvictedNow, 'outcome' | 'reason'>;

/** The orphan finalizer of Kubernetes takes its time; the reconciler sees to the rest. */
const LONGEST_MS = 15_000;
const PAUSE_MS = 200;

/**
 * Evicts one chosen object, whether or not a reconciler runs: by the reconciler's own flows, with all of its checks, which
 * `flow` brings as they are made for it. It begins only with exactly what was chosen and goes on only with what it began.
 */
export async function evictNow(chosen: Chosen, flow: FlowOptions, signal: AbortSignal): Promise<EvictedNow> {
  const { namespace, name, rule } = chosen;
  try {
    return { namespace, name, rule, ...(await evict(chosen, flow, signal)) };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { namespace, name, rule, outcome: 'failed', reason: `${error.code}: ${messageOf(error)}` };
  }
}

async function evict(chosen: Chosen, flow: FlowOptions, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, kind, pace, resource, storage, recordEvent } = flow;
  const retained: string[] = [];
  const read = (): Promise<KubernetesObject | undefined> => getSame(client, resource, chosen);
  const reconciler = new ObjectReconciler({
    ...flow,
    getObject: async () => asWatched(await read()),
    recordEvent: (object, reason, note) => {
      if (reason === 'Retained' || reason === 'RecreatedAfterEviction') retained.push(note);
      recordEvent?.(object, reason, note);
    },
  });
  const deadlineMs = clock.monotonicMs() + LONGEST_MS;
  while (!signal.aborted && clock.monotonicMs() < deadlineMs) {
    const now = verdict(chosen, await read(), await storage.getById(kind, chosen.uid));
    if (now !== undefined) return now;
    if (pace?.paused() === true) return { outcome: 'failed', reason: 'eviction was paused meanwhile' };
    const result = await reconciler.reconcile(objectKey({ metadata: chosen }));
    if (retained[0] !== undefined) return { outcome: 'retained', reason: retained[0] };
    await sleep(clock, waitMs(result), signal);
  }
  return { outcome: 'failed', reason: 'it takes long; the reconciler goes on with it' };
}

/** Pure. Undefined where there is something to do: it is as it was chosen, or on the way out that was begun. */
export function verdict(
  chosen: Pick<Chosen, 'resourceVersion'>,
  object: KubernetesObject | undefined,
  row: Pick<StoredObject, 'state'> | undefined,
): Outcome | undefined {
  if (row?.state === 'evicted') return object !== undefined && isHeld(object) ? undefined : { outcome: 'evicted' };
  if (object === undefined) return { outcome: 'changed', reason: 'it was deleted meanwhile' };
  const { deletionTimestamp, resourceVersion } = object.metadata;
  if (deletionTimestamp !== undefined)
    return row?.state === 'evicting' ? undefined : { outcome: 'changed', reason: 'it is being deleted' };
  return resourceVersion === chosen.resourceVersion
    ? undefined
    : { outcome: 'changed', reason: 'it changed after it was chosen' };
}

/** By our finalizer, which comes off after that of the garbage collector. */
function isHeld(object: KubernetesObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && hasFinalizer(object);
}

function waitMs(result: ReconcileResult): number {
  return result.kind === 'done' ? PAUSE_MS : Math.min(PAUSE_MS, result.delayMs);
}
