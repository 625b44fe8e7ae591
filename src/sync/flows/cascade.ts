// A run that goes because the pipeline above it was deleted: no user deleted the run, and what it did stays worth reading.
import type { KindDefinition } from '../../api/kind.ts';
import { GROUP, VERSION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject } from '../../base/json.ts';
import { kindNames } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { getSame } from '../../kube/found.ts';

/** Kinds whose rows stay readable then, as in the original. */
const retained: ReadonlySet<string> = new Set(['PipelineRun', 'TriggerRun']);

/** A run has one or two. Each costs a question, and an object has room for thousands, which would keep other runs waiting. */
const MOST_OWNERS = 10;

interface Owner {
  readonly plural: string;
  readonly name: string;
  readonly uid: string;
}

/** Whether the object is being deleted together with what owns it: each owner is gone or going. Of many it is not asked. */
export async function goesWithOwners(
  client: Pick<KubeClient, 'get'>,
  kind: KindDefinition,
  object: KubernetesObject,
): Promise<boolean> {
  const owners = retained.has(kind.kind) ? ownersOf(object) : [];
  if (owners.length === 0 || owners.length > MOST_OWNERS) return false;
  for (const owner of owners) if (await lives(client, owner, object)) return false;
  return true;
}

/** The API server takes any text for the name of an owner, and looks for no object of a name that none can have. */
const canBeName = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Without the right to look it counts as living: the run is deleted like any other, and does not wait. */
async function lives(
  client: Pick<KubeClient, 'get'>,
  { plural, name, uid }: Owner,
  { metadata: { namespace } }: KubernetesObject,
): Promise<boolean> {
  if (!canBeName.test(name)) return false;
  try {
    const owner = await getSame(client, { group: GROUP, version: VERSION, plural }, { namespace, name, uid });
    return owner !== undefined && owner.metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (!isKubeError(error, 'Forbidden')) throw error;
    return true;
  }
}

/** Those of the kinds that are stored; a run may have others as well. */
function ownersOf({ metadata }: KubernetesObject): readonly Owner[] {
  const references = metadata['ownerReferences'];
  if (!Array.isArray(references)) return [];
  return references.filter(isJsonObject).flatMap(({ apiVersion, kind, name, uid }) => {
    const plural = kindNames.find((each) => each.kind === kind)?.plural;
    if (plural === undefined || typeof apiVersion !== 'string' || !apiVersion.startsWith(`${GROUP}/`)) return [];
    return typeof name === 'string' && typeof uid === 'string' ? [{ plural, name, uid }] : [];
  });
}
