// A run that goes because the pipeline above it was deleted: no user deleted the run, and what it did stays worth reading.
import type { KindDefinition } from '../../api/kind.ts';
import { GROUP, VERSION } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject } from '../../base/json.ts';
import { kindNames } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getSame } from '../../kube/found.ts';

/** Kinds whose rows stay readable then, as in the original. */
const retained: ReadonlySet<string> = new Set(['PipelineRun', 'TriggerRun']);

interface Owner {
  readonly plural: string;
  readonly name: string;
  readonly uid: string;
}

/** Whether the object is being deleted together with what owns it: each owner is gone or going. */
export async function goesWithOwners(
  client: Pick<KubeClient, 'get'>,
  kind: KindDefinition,
  object: KubernetesObject,
): Promise<boolean> {
  const owners = retained.has(kind.kind) ? ownersOf(object) : [];
  if (owners.length === 0) return false;
  for (const { plural, name, uid } of owners) {
    const { namespace } = object.metadata;
    const owner = await getSame(client, { group: GROUP, version: VERSION, plural }, { namespace, name, uid });
    if (owner !== undefined && owner.metadata.deletionTimestamp === undefined) return false;
  }
  return true;
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
