// An object that is being deleted, whoever asked: its final state goes into MySQL, then our finalizer comes off. States
// that other finalizers still bring about are stored the same way.
import { FINALIZER } from '../api/names.ts';
import { hasFinalizer, type KubernetesObject } from '../api/object.ts';
import { done, type ReconcileResult } from '../runtime/reconcile.ts';
import { type Ending, endingOf, storeEnding } from './ending.ts';
import { removeFinalizerPatch } from './finalizer.ts';
import { type Flow, refuseStale } from './flow.ts';
import { isOutage } from './outage-release.ts';
import { proveStored } from './proof.ts';

/** After so long, an object that is still there gets an event that says why. */
export const BLOCKED_MS = 60_000;
/** While a breaker is open, how often it is looked whether it still is. */
const PAUSED_MS = 10_000;

export async function release(flow: Flow, object: KubernetesObject): Promise<ReconcileResult> {
  flow.log(object, 'info', 'Object is being deleted');
  const wanted = endingOf(object, flow.options);
  const definitionGone = wanted !== 'evicted' && (await flow.options.definitions?.isBeingRemoved()) === true;
  const ending = definitionGone ? 'evicted' : wanted;
  try {
    const waiting = await secure(flow, object, ending);
    if (waiting !== undefined) return waiting;
  } catch (error) {
    if (await releasedUnsaved(flow, object, { ending, error })) return done;
    throw error;
  }
  await rememberName(flow, object, ending);
  await flow.options.client.patch(flow.ref(object), removeFinalizerPatch(object));
  flow.log(object, 'info', 'Final state is in MySQL; finalizer removed');
  if (definitionGone) {
    const note = 'Its CustomResourceDefinition is being removed; MySQL keeps the object as evicted, not as deleted.';
    flow.options.witness?.(object, 'ReleasedDefinitionRemoved', note);
  }
  if (ending === 'evicted') flow.options.witness?.(object, 'Evicted', 'The object is in MySQL only.');
  return done;
}

/** As what its row ended. */
async function rememberName({ options }: Flow, object: KubernetesObject, ending: Ending): Promise<void> {
  const { names, kind, storage } = options;
  if (names === undefined) return;
  const stored = ending === 'as-recorded' ? await storage.getById(kind, object.metadata.uid) : undefined;
  await names.remember(kind, object, (stored?.state ?? ending) === 'evicted' ? 'evicted' : 'deleted');
}

/** Stores the final state. Gives what to do instead of taking the finalizer off, undefined where it may come off. */
async function secure(flow: Flow, object: KubernetesObject, ending: Ending): Promise<ReconcileResult | undefined> {
  const { storage, kind } = flow.options;
  const row = flow.row(object);
  const paused = await pausedBecause(flow, object, ending);
  if (paused !== undefined) {
    await storage.upsert(row);
    return pausedResult(flow, object, paused);
  }
  refuseOrIgnoreStale(await storeEnding(storage, row, { ending, at: deletedAt(flow, object) }), object);
  if (!hasFinalizer(object)) return awaitOthers(flow, object);
  if (ending === 'evicted') {
    await proveStored(flow.options, row, ['evicted', 'deleted']);
    return undefined;
  }
  const waitMs = delayLeftMs(flow, object);
  if (waitMs === 0) return undefined;
  const stored = await storage.getById(kind, row.uid);
  return stored?.state === 'evicted' ? undefined : { kind: 'requeue-after', delayMs: waitMs };
}

/** Once our finalizer is off, a state that comes late is simply too late. */
function refuseOrIgnoreStale(outcome: Parameters<typeof refuseStale>[0], object: KubernetesObject): void {
  if (hasFinalizer(object)) refuseStale(outcome, object);
}

/** Only what would newly mark a row as deleted counts for the breaker. */
async function pausedBecause(flow: Flow, object: KubernetesObject, ending: Ending): Promise<string | undefined> {
  const { breaker, storage, kind } = flow.options;
  if (breaker === undefined || ending === 'evicted') return undefined;
  const stored = await storage.getById(kind, object.metadata.uid);
  const alreadyEnding = stored !== undefined && stored.state !== 'live';
  return alreadyEnding && !(ending === 'deleted' && stored.state === 'evicting')
    ? undefined
    : breaker.admit(object.metadata.uid);
}

export function pausedResult(flow: Flow, object: KubernetesObject, because: string): ReconcileResult {
  flow.options.witness?.(object, 'DeletionsPaused', because);
  return { kind: 'requeue-after', delayMs: PAUSED_MS };
}

/** The outage policy: true where the finalizer came off although MySQL does not have the final state yet. */
async function releasedUnsaved(
  flow: Flow,
  object: KubernetesObject,
  failed: { readonly ending: Ending; readonly error: unknown },
): Promise<boolean> {
  const { outage, client, witness, kind } = flow.options;
  if (outage === undefined || !hasFinalizer(object) || !isOutage(failed.error) || !outage.isDue(object)) return false;
  const at = deletedAt(flow, object);
  if (!(await outage.keep({ kind, object, ending: failed.ending, at }))) return false;
  await client.patch(flow.ref(object), removeFinalizerPatch(object));
  flow.log(object, 'warn', 'Finalizer removed while MySQL is away; the final state is on disk until it is back');
  witness?.(object, 'ReleasedToSpool', 'MySQL is away for too long; the final state is on disk until it is back.');
  return true;
}

function deletedAt(flow: Flow, { metadata }: KubernetesObject): Date {
  return metadata.deletionTimestamp === undefined ? flow.options.clock.now() : new Date(metadata.deletionTimestamp);
}

function delayLeftMs(flow: Flow, object: KubernetesObject): number {
  const { deletionDelayMs = 0, clock, kind, evictImmutableKinds } = flow.options;
  // Who asked by annotation asked for it to happen now.
  if (deletionDelayMs === 0 || endingOf(object, { kind, evictImmutableKinds }) === 'deleted') return 0;
  return Math.max(0, deletedAt(flow, object).getTime() + deletionDelayMs - clock.now().getTime());
}

/** Ours is off. Others hold it; if they do so for long, that is said on the object. */
function awaitOthers(flow: Flow, object: KubernetesObject): ReconcileResult {
  const ageMs = flow.options.clock.now().getTime() - deletedAt(flow, object).getTime();
  if (ageMs < BLOCKED_MS) return { kind: 'requeue-after', delayMs: BLOCKED_MS - ageMs };
  const others = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
  const note = `MySQL has its state and michelangelo/Ingester is off. It waits for: ${others.join(', ')}.`;
  flow.options.witness?.(object, 'TerminatingBlocked', note);
  return done;
}
