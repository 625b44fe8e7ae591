// Takes the finalizer off an object whose final state is stored, and off exactly that state: who changes the object meanwhile
// wins, and the newer state is stored first. A client that changes it many times a second would win for ever. So an object
// that has lost for some seconds is read, stored and released with nothing in between, again and again; and one that has lost
// for long is released in whichever state it is in by then. What came after the stored state is then stored from
// the answer, and from the watch, which alone has what the API server still let through.
import type { KubernetesObject } from '../../api/object.ts';
import { deletionTimeOf, hasFinalizer } from '../../api/object.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { removeFinalizerFrom, removeFinalizerFromAnyState } from '../finalizer.ts';
import { type Ending, endingOf, storeEnding } from './ending.ts';
import type { Flow } from './flow.ts';
import type { LostRaces } from './lost-races.ts';
import { proveStored } from './proof.ts';

/** In one reconcile, of an object that is hurried. */
export const TRIES = 8;
/** How long a lost race is left to the next event of the watch. */
const ORDINARY_MS = 2000;
/** How long an object is tried to be released in exactly the stored state. */
const LONGEST_MS = 20_000;

/** `object` is stored with this ending. Fails with reason Conflict where it is to be looked at anew. */
export async function release(flow: Flow, object: KubernetesObject, ending: Ending): Promise<void> {
  const { lostRaces } = flow.options;
  const { uid } = object.metadata;
  let stored = object;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await removeFinalizerFrom(flow.options, stored);
      break;
    } catch (error) {
      if (!isKubeError(error, 'Conflict') || !isHurried(lostRaces, uid)) throw error;
      const newest = await storeNewest(flow, object, ending);
      if (newest === undefined) throw error;
      stored = newest;
      if (attempt < TRIES) continue;
      if ((lostRaces?.lost(uid) ?? 0) < LONGEST_MS || !(await releaseAnyState(flow, stored, ending))) throw error;
      break;
    }
  }
  lostRaces?.won(uid);
}

/** Whether an object that has lost a race again is to be tried with nothing in between. */
export function isHurried(lostRaces: LostRaces | undefined, uid: string): boolean {
  return (lostRaces?.lost(uid) ?? 0) >= ORDINARY_MS;
}

/** Undefined where the object is another one by now, or is to end otherwise. */
async function storeNewest(
  flow: Flow,
  before: KubernetesObject,
  ending: Ending,
): Promise<KubernetesObject | undefined> {
  const { client, storage, onFinished } = flow.options;
  const object = await ifFound(client.get(flow.ref(before)));
  if (object === undefined || !isStillLeaving(flow, object, before)) return undefined;
  const row = flow.row(object);
  if ((await storeEnding(storage, row, { ending, at: deletedAt(flow, object) })) === 'stale') return undefined;
  onFinished?.(object.metadata);
  if (ending === 'evicted') await proveStored(flow.options, row, ['evicted', 'deleted']);
  return object;
}

function isStillLeaving({ options }: Flow, object: KubernetesObject, before: KubernetesObject): boolean {
  return (
    object.metadata.uid === before.metadata.uid &&
    object.metadata.deletionTimestamp === before.metadata.deletionTimestamp &&
    hasFinalizer(object) &&
    endingOf(object, options) === endingOf(before, options)
  );
}

async function releaseAnyState(flow: Flow, object: KubernetesObject, ending: Ending): Promise<boolean> {
  const { lastStates, storage, recordEvent } = flow.options;
  const letGo = await lastStates?.letGo(object.metadata.uid, async () => {
    const left = await removeFinalizerFromAnyState(flow.options, object);
    await storeEnding(storage, flow.row(left), { ending, at: deletedAt(flow, left), isReleased: true });
    return (left.metadata.finalizers ?? []).length > 0 ? 'held' : 'leaves';
  });
  if (letGo !== true) return false;
  flow.log(object, 'warn', 'Changed too often to be released in the stored state; released, the last state follows');
  const note =
    'It was changed so often that the finalizer was taken off between two changes; MySQL gets the last state.';
  recordEvent?.(object, 'FinalizerRemovedWhileChanging', note);
  return true;
}

export function deletedAt({ options }: Flow, object: KubernetesObject): Date {
  const now = options.clock.now();
  return deletionTimeOf(object, now) ?? now;
}
