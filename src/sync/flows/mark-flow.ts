// Deleting what is annotated michelangelo/Deleting: the row is deleted first, then the object, and the finalizer holds
// the object until the deletion flow has stored its very last state. If the mark is taken off before the DELETE, the
// DELETE fails on its precondition and the newer, living state revives the row.
import { PROPAGATION_ANNOTATION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { DeleteOptions } from '../../kube/client.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import { PropagationInvalidError } from '../errors.ts';
import { endRow, holdDeletion } from './deletion-flow.ts';
import { type Flow, preconditions, refuseStale } from './flow.ts';

type PropagationPolicy = NonNullable<DeleteOptions['propagationPolicy']>;

const policies: readonly PropagationPolicy[] = ['Orphan', 'Background', 'Foreground'];

export async function deleteMarked(flow: Flow, object: KubernetesObject): Promise<ReconcileResult> {
  const first = await flow.addFinalizerFirst(object);
  if (first !== undefined) return first;
  const { storage, client, clock } = flow.options;
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
  const policy = propagation === undefined ? {} : { propagationPolicy: propagation };
  await client.delete(flow.ref(object), { ...preconditions(object), ...policy });
  return done;
}

/** Undefined leaves the choice to the API server. */
function propagationOf(object: KubernetesObject): PropagationPolicy | 'invalid' | undefined {
  const wanted = object.metadata.annotations?.[PROPAGATION_ANNOTATION];
  if (wanted === undefined) return undefined;
  return policies.find((policy) => policy === wanted) ?? 'invalid';
}
