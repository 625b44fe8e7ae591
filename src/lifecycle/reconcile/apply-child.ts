// Creates or updates one object. An object of another owner is never changed, also where it appears at this moment: an
// object is created by a call that fails where there is one, and updated with its uid as a precondition.
import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import type { Child } from '../children/kinds.ts';
import type { Parent } from '../children/names.ts';
import { isOurs } from '../children/names.ts';
import { refOf } from './desired-children.ts';

/** On an object that was created and whose fields are not owned yet as applied fields are. */
const CREATED_ANNOTATION = 'michelangelo/created';

interface ApplyChildInput {
  readonly client: KubeClient;
  readonly parent: Parent;
  /** The object as it was observed in this reconcile; undefined unless it is ours. */
  readonly known: KubernetesObject | undefined;
}

/** False where an object of another owner has the name. */
export async function applyChild({ client, parent, known }: ApplyChildInput, child: Child): Promise<boolean> {
  if (known?.metadata.deletionTimestamp !== undefined) return true;
  const ref = refOf(parent, child.kind, child.name);
  try {
    const found = known ?? (await createdOrFound(client, ref, child));
    if (found === undefined) return true;
    if (!isOurs(found, parent)) return false;
    if (found.metadata.annotations?.[CREATED_ANNOTATION] !== undefined) await ownAsApplied(client, ref, child);
    await client.apply(ref, manifestOf(child, { uid: found.metadata.uid }), {
      fieldManager: child.kind.manager,
      force: true,
    });
  } catch (error) {
    if (!child.kind.optional || !isKubeError(error, 'NotFound')) throw error;
  }
  return true;
}

/** The existing object; undefined where it was just created. */
async function createdOrFound(client: KubeClient, ref: ObjectRef, child: Child): Promise<KubernetesObject | undefined> {
  const found = await ifFound(client.get(ref));
  if (found !== undefined) return found;
  const annotations = { ...annotationsOf(child), [CREATED_ANNOTATION]: 'true' };
  const { manager: fieldManager } = child.kind;
  try {
    await client.create(ref.resource, ref.namespace, manifestOf(child, { annotations }), { fieldManager });
  } catch (error) {
    if (!isKubeError(error, 'Conflict')) throw error;
    // Another client was faster; the owner shows whose it is. If it is gone again, the next reconcile creates it.
    return client.get(ref);
  }
  await ownAsApplied(client, ref, child);
  return undefined;
}

/**
 * Fields of an object that was created belong to its creator for good; those that were applied go when they are not
 * applied any more. Nothing but an apply without precondition creates applied fields, so they are made such.
 */
async function ownAsApplied(client: KubeClient, ref: ObjectRef, { kind: { manager } }: Child): Promise<void> {
  const entry = '/metadata/managedFields/0';
  try {
    await client.patch(
      ref,
      [
        { op: 'test', path: `${entry}/manager`, value: manager },
        { op: 'test', path: `${entry}/operation`, value: 'Update' },
        { op: 'replace', path: `${entry}/operation`, value: 'Apply' },
        { op: 'remove', path: `/metadata/annotations/${CREATED_ANNOTATION.replace('/', '~1')}` },
      ],
      { fieldManager: manager },
    );
  } catch (error) {
    // Another manager comes first in managedFields by now: the object is as it should be all the same.
    if (!isKubeError(error, 'Conflict')) throw error;
  }
}

function manifestOf(child: Child, metadata: object): object {
  const own: unknown = valueAt(child.body, ['metadata']);
  const { apiVersion, kind } = child.kind;
  return { ...child.body, apiVersion, kind, metadata: { ...(isJsonObject(own) ? own : {}), ...metadata } };
}

function annotationsOf({ body }: Child): object {
  const annotations: unknown = valueAt(body, ['metadata', 'annotations']);
  return isJsonObject(annotations) ? annotations : {};
}
