// Deleting what is annotated michelangelo/Deleting: the row is deleted first, then the object, and the finalizer holds
// the object until the deletion flow has stored its very last state. If the mark is taken off before the DELETE, the
// DELETE fails on its precondition and the newer, living state revives the row.
import { PROPAGATION_ANNOTATION } from '../../api/names.ts';
import { hasFinalizer, isMarkedDeleting, type KubernetesObject } from '../../api/object.ts';
import type { DeleteOptions } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import { PropagationInvalidError } from '../errors.ts';
import { endRow, holdDeletion } from './deletion-flow.ts';
import { type Flow, preconditions, refuseStale } from './flow.ts';
import { isHurried, TRIES } from './release.ts';

type PropagationPolicy = NonNullable<DeleteOptions['propagationPolicy']>;

const policies: readonly PropagationPolicy[] = ['Orphan', 'Background', 'Foreground'];

export async function deleteMarked(flow: Flow, object: KubernetesObject): Promise<ReconcileResult> {
  const first = await flow.addFinalizerFirst(object);
  if (first !== undefined) return first;
  const { storage, clock } = flow.options;
  const row = flow.row(object);
  const propagation = propagationOf(object);
  if (propagation === 'invalid') {
    await storage.upsert(row);
    const error = new PropagationInvalidError(policies);
    flow.options.recordEvent?.(object, 'PropagationInvalid', error.message);
    throw error;
  }
  flow.log(object, 'info', 'Object marked for deletion via annotation');
  const ended = await endRow(flow, object, { ending: 'deleted', write: () => storage.delete(row, clock.now()) });
  if ('held' in ended) return holdDeletion(flow, object, ended.held);
  refuseStale(ended.outcome, object);
  await deleteWhileMarked(flow, object, propagation === undefined ? {} : { propagationPolicy: propagation });
  return done;
}

/**
 * Deletes the object in exactly a state that has the mark. Where another controller changes it many times a second, it is read
 * and deleted with nothing in between: its finalizer holds it until its last state is stored.
 */
async function deleteWhileMarked(flow: Flow, marked: KubernetesObject, policy: DeleteOptions): Promise<void> {
  const { client, lostRaces } = flow.options;
  let object = marked;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.delete(flow.ref(object), { ...preconditions(object), ...policy });
      lostRaces?.won(object.metadata.uid);
      return;
    } catch (error) {
      const again = attempt < TRIES && isKubeError(error, 'Conflict') && isHurried(lostRaces, object.metadata.uid);
      if (!again) throw error;
      const newest = await ifFound(client.get(flow.ref(object)));
      if (newest === undefined || !isMarkedAlike(newest, marked)) throw error;
      object = newest;
    }
  }
}

function isMarkedAlike(object: KubernetesObject, { metadata }: KubernetesObject): boolean {
  return (
    object.metadata.uid === metadata.uid &&
    object.metadata.deletionTimestamp === undefined &&
    isMarkedDeleting(object) &&
    hasFinalizer(object) &&
    object.metadata.annotations?.[PROPAGATION_ANNOTATION] === metadata.annotations?.[PROPAGATION_ANNOTATION]
  );
}

/** Undefined leaves the choice to the API server. */
function propagationOf(object: KubernetesObject): PropagationPolicy | 'invalid' | undefined {
  const wanted = object.metadata.annotations?.[PROPAGATION_ANNOTATION];
  if (wanted === undefined) return undefined;
  return policies.find((policy) => policy === wanted) ?? 'invalid';
}
