// An object that is being deleted: its final state goes into MySQL, then our finalizer comes off. States
// that other finalizers still bring about are stored the same way.
import { FINALIZER } from '../../api/names.ts';
import { hasFinalizer, isBornDeleting, type KubernetesObject } from '../../api/object.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import type { WriteOutcome } from '../../storage/metadata-storage.ts';
import { removeFinalizerFrom } from '../finalizer.ts';
import { goesWithOwners } from './cascade.ts';
import { type Ending, endingOf, storeEnding } from './ending.ts';
import { BLOCKED_MS } from './failing-objects.ts';
import { type Flow, preconditions, refuseStale } from './flow.ts';
import { isOutage, type OutagePolicy } from './outage-policy.ts';
import { proveStored } from './proof.ts';
import { deletedAt, release } from './release.ts';

/** `arrival`: of the object, in the order in which objects were received. */
export async function finishDeletion(flow: Flow, object: KubernetesObject, arrival: number): Promise<ReconcileResult> {
  // What waits comes here every few seconds; its event TerminatingBlocked is for users.
  flow.log(object, 'debug', 'Object is being deleted');
  const wanted = endingOf(object, flow.options);
  const kept = await whyKept(flow, { object, arrival }, wanted);
  const ending = kept === undefined ? wanted : 'evicted';
  try {
    const waiting = await secure(flow, object, ending);
    if (waiting !== undefined) return waiting;
  } catch (error) {
    if (await removedUnsaved(flow, object, { ending, error })) return done;
    throw error;
  }
  const orphaningMs = orphaningLeftMs(flow, object);
  if (orphaningMs > 0) return { kind: 'requeue-after', delayMs: orphaningMs };
  await writeTombstone(flow, object, ending);
  await release(flow, object, ending);
  flow.log(object, 'info', 'Final state is in MySQL; finalizer removed');
  tellEnding(flow, object, ending, kept);
  return done;
}

/**
 * The state that an object left with, where it is later than the final state that was stored: a client changed the object
 * while the API server took it away. The row has ended and gets the newer content.
 */
export async function storeLastState(flow: Flow, object: KubernetesObject): Promise<void> {
  const end = { ending: endingOf(object, flow.options), at: deletedAt(flow, object), isReleased: true };
  await storeEnding(flow.options.storage, flow.row(object), end);
  flow.log(object, 'info', 'The object was changed while it left; MySQL has the last state');
}

/**
 * The state of an object that left with no final state stored, because its finalizer was taken off by hand. It becomes that
 * of its row, which is ended by what is recorded there.
 */
export async function storeUnsaved(flow: Flow, object: KubernetesObject): Promise<void> {
  const { storage, kind, clock } = flow.options;
  const row = flow.row(object);
  const stored = await storage.getById(kind, row.uid);
  if (stored?.state === 'deleted' || stored?.state === 'evicted') return;
  const isEvicted = stored?.state === 'evicting' || endingOf(object, flow.options) === 'evicted';
  await (isEvicted ? storage.requestEviction(row, clock.now()) : storage.upsert(row));
  flow.log(
    object,
    'warn',
    'The finalizer was taken off before the final state was stored; MySQL has it from the watch',
  );
}

type Kept = 'its definition goes' | 'its owners go';

/** What else than the object itself keeps its row from ending as deleted. */
async function whyKept(
  { options }: Flow,
  { object, arrival }: { readonly object: KubernetesObject; readonly arrival: number },
  wanted: Ending,
): Promise<Kept | undefined> {
  const { client, kind, definitions } = options;
  if (wanted !== 'evicted' && (await definitions?.isBeingRemoved(arrival)) === true) return 'its definition goes';
  return wanted === 'as-recorded' && (await goesWithOwners(client, kind, object)) ? 'its owners go' : undefined;
}

function tellEnding({ options }: Flow, object: KubernetesObject, ending: Ending, kept: Kept | undefined): void {
  if (kept === 'its definition goes') {
    const note = 'Its CustomResourceDefinition is being removed; MySQL keeps the object as evicted, not as deleted.';
    options.recordEvent?.(object, 'FinalizerRemovedWithDefinition', note);
  }
  const why = kept === 'its owners go' ? ' Its owner was deleted, and the run stays readable.' : '';
  if (ending === 'evicted') options.recordEvent?.(object, 'Evicted', `The object is in MySQL only.${why}`);
}

/** As what its row ended. */
async function writeTombstone({ options }: Flow, object: KubernetesObject, ending: Ending): Promise<void> {
  const { tombstones, kind, storage } = options;
  if (tombstones === undefined) return;
  const stored = ending === 'as-recorded' ? await storage.getById(kind, object.metadata.uid) : undefined;
  await tombstones.add(kind, object, (stored?.state ?? ending) === 'evicted' ? 'evicted' : 'deleted');
}

/** Stores the final state. Gives what to do instead of taking the finalizer off, undefined where it may come off. */
async function secure(flow: Flow, object: KubernetesObject, ending: Ending): Promise<ReconcileResult | undefined> {
  const { storage, kind } = flow.options;
  const row = flow.row(object);
  const end = { ending, at: deletedAt(flow, object), isReleased: !hasFinalizer(object) };
  const write = () => storeEnding(storage, row, end);
  const ended = await endRow(flow, object, { ending, write });
  if ('held' in ended) return holdDeletion(flow, object, ended.held);
  refuseOrIgnoreStale(ended.outcome, object);
  if (ended.outcome !== 'stale') flow.options.onFinished?.(object.metadata);
  if (!hasFinalizer(object)) return (await finished(flow, object)) ?? awaitOthers(flow, object);
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

/** The outage policy: true where the finalizer came off although MySQL does not have the final state yet. */
async function removedUnsaved(
  flow: Flow,
  object: KubernetesObject,
  failed: { readonly ending: Ending; readonly error: unknown },
): Promise<boolean> {
  const { outage, recordEvent } = flow.options;
  if (outage === undefined || !hasFinalizer(object) || !isOutage(failed.error) || !outage.isDue(object)) return false;
  if (!(await keepUnsaved(flow, object, { outage, ending: failed.ending }))) return false;
  flow.options.onFinished?.(object.metadata);
  await removeFinalizerFrom(flow.options, object);
  flow.log(object, 'warn', 'Finalizer removed while MySQL is away; the final state is on disk until it is back');
  recordEvent?.(
    object,
    'FinalizerRemovedToSpool',
    'MySQL is away for too long; the final state is on disk until it is back.',
  );
  return true;
}

/** Whether the final state is on disk. It is unknown whether its row has ended, so it counts for the breaker, if it is. */
async function keepUnsaved(
  flow: Flow,
  object: KubernetesObject,
  { outage, ending }: { readonly outage: OutagePolicy; readonly ending: Ending },
): Promise<boolean> {
  const { breaker, kind } = flow.options;
  const unsaved = { kind, object, ending, at: deletedAt(flow, object) };
  if (breaker === undefined || ending === 'evicted') return outage.keep(unsaved);
  if (breaker.admit(object.metadata) !== undefined) return false;
  let kept = false;
  try {
    kept = await outage.keep(unsaved);
    return kept;
  } finally {
    if (!kept) breaker.takeBack(object.metadata.uid);
  }
}

function delayLeftMs(flow: Flow, object: KubernetesObject): number {
  const { deletionDelayMs = 0, clock, kind, evictImmutableKinds } = flow.options;
  // A deletion by annotation is meant to happen now.
  if (deletionDelayMs === 0 || endingOf(object, { kind, evictImmutableKinds }) === 'deleted') return 0;
  return Math.max(0, deletedAt(flow, object).getTime() + deletionDelayMs - clock.now().getTime());
}

/** Of the garbage collector, which takes it off at once: it is what an eviction waits for, with orphan propagation. */
const ORPHAN_FINALIZER = 'orphan';
/** Longer than the garbage collector needs, unless it does not run. */
const ORPHANING_MS = 10_000;

/**
 * How long the garbage collector has for its finalizer. It takes it off in the same moment as we would ours, and the later of
 * the two finds another state than it knows. Nothing is waited for where the clocks of the API server and this one differ.
 */
function orphaningLeftMs(flow: Flow, object: KubernetesObject): number {
  if (object.metadata.finalizers?.includes(ORPHAN_FINALIZER) !== true) return 0;
  const ageMs = flow.options.clock.now().getTime() - deletedAt(flow, object).getTime();
  return ageMs < 0 ? 0 : Math.max(0, ORPHANING_MS - ageMs);
}

/**
 * The API server keeps an object that is being deleted only for its finalizers. One that has none was created so, and
 * stays until it is deleted indeed. Undefined where there are others.
 */
async function finished(flow: Flow, object: KubernetesObject): Promise<ReconcileResult | undefined> {
  if ((object.metadata.finalizers ?? []).length > 0) return undefined;
  await flow.options.client.delete(flow.ref(object), preconditions(object));
  return done;
}

/** Our finalizer is off. Finalizers of other controllers hold the object; if they do so for long, an event says so. */
function awaitOthers(flow: Flow, object: KubernetesObject): ReconcileResult {
  const ageMs = flow.options.clock.now().getTime() - deletedAt(flow, object).getTime();
  if (ageMs < BLOCKED_MS) return { kind: 'requeue-after', delayMs: BLOCKED_MS - ageMs };
  const others = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
  const note = `MySQL has its state and michelangelo/Ingester is off. It waits for: ${others.join(', ')}.`;
  flow.options.recordEvent?.(object, 'TerminatingBlocked', note);
  return done;
}

// How a flow asks the breaker, so that what counts is a row that was newly ended: not an attempt, and not a repetition.

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
