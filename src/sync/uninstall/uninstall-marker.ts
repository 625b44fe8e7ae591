// The ConfigMap by which `ingester uninstall` and the reconciler understand each other. The bundle installs it with phase
// `active`; the command sets `uninstalling`, and `removable` when no object is guarded any more.
import { UNINSTALL_MARKER } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { valueAt } from '../../base/json.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { configMapRef, configMaps } from '../../kube/resources.ts';

export type UninstallPhase = 'active' | 'uninstalling' | 'removable';

const phases: readonly UninstallPhase[] = ['active', 'uninstalling', 'removable'];

/** A missing marker means that no uninstall is under way: it may have been deleted with its namespace. */
export function phaseOf(marker: KubernetesObject | undefined): UninstallPhase {
  const phase = valueAt(marker, ['data', 'phase']);
  return phases.find((known) => known === phase) ?? 'active';
}

/** Writes the phase, creating the marker where it is missing. */
export async function setPhase(client: KubeClient, namespace: string, phase: UninstallPhase): Promise<void> {
  const ref = configMapRef(namespace, UNINSTALL_MARKER);
  const data = { phase };
  try {
    await client.mergePatch(ref, { data });
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
    const metadata = { name: UNINSTALL_MARKER, namespace };
    await client.create(configMaps, namespace, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }
}
