import { FINALIZER } from '../api/names.ts';
import { hasFinalizer, type KubernetesObject } from '../api/object.ts';
import type { JsonPatch, KubeClient, Resource } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';

type Test = JsonPatch[number];

/** The patch applies only to exactly the state it was made for. */
function onlyFor({ metadata }: KubernetesObject): Test {
  return { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
}

/** It applies to every state of this very object while it is being deleted. */
function whileLeaving({ metadata }: KubernetesObject): readonly Test[] {
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: '/metadata/deletionTimestamp', value: metadata.deletionTimestamp ?? null },
  ];
}

/**
 * Takes our finalizer off and leaves every other one, and every field this program does not know, alone. Highest index
 * first, because the API server keeps duplicates and removing one shifts those behind it.
 */
export function removeFinalizerPatch(object: KubernetesObject): JsonPatch {
  return [onlyFor(object), ...removals(object)];
}

function removals(object: KubernetesObject): JsonPatch {
  const finalizers = object.metadata.finalizers ?? [];
  const indexes = finalizers.flatMap((finalizer, index) => (finalizer === FINALIZER ? [index] : [])).reverse();
  return indexes.flatMap((index): JsonPatch => {
    const path = `/metadata/finalizers/${index}`;
    return [
      { op: 'test', path, value: FINALIZER },
      { op: 'remove', path },
    ];
  });
}

export function addFinalizerPatch(object: KubernetesObject): JsonPatch {
  const path = '/metadata/finalizers';
  const add: JsonPatch[number] =
    object.metadata.finalizers === undefined
      ? { op: 'add', path, value: [FINALIZER] }
      : { op: 'add', path: `${path}/-`, value: FINALIZER };
  return [onlyFor(object), add];
}

interface Target {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly resource: Resource;
}

/**
 * Fails with reason Conflict where the object is not in this state any more, and Refused where the patch was taken and
 * undone by admission; so does `removeFinalizerFrom`. An object that stays as it was sends no event: nothing but the answer
 * tells it.
 */
export async function addFinalizerTo(target: Target, object: KubernetesObject): Promise<void> {
  const patched = await patch(target, object, addFinalizerPatch(object));
  if (!hasFinalizer(patched)) throw undone('took it off again');
}

export async function removeFinalizerFrom(target: Target, object: KubernetesObject): Promise<void> {
  await remove(target, object, removeFinalizerPatch(object));
}

/** In whichever state the object is by then; gives the state that it had. */
export function removeFinalizerFromAnyState(target: Target, object: KubernetesObject): Promise<KubernetesObject> {
  return remove(target, object, [...whileLeaving(object), ...removals(object)]);
}

async function remove(target: Target, object: KubernetesObject, change: JsonPatch): Promise<KubernetesObject> {
  const patched = await patch(target, object, change);
  if (hasFinalizer(patched)) throw undone('put it back');
  return patched;
}

function patch(
  { client, resource }: Target,
  { metadata }: KubernetesObject,
  change: JsonPatch,
): Promise<KubernetesObject> {
  const { namespace, name } = metadata;
  return client.patch({ resource, namespace, name }, change);
}

function undone(how: string): KubeError {
  return new KubeError('Refused', `The finalizer ${FINALIZER} was changed, and a mutating webhook or policy ${how}`);
}
