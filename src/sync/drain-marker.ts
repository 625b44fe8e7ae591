// The ConfigMap by which `ingester drain` and the reconciler understand each other. The bundle installs it with phase
// `active`; a drain sets `draining`, and `drained` when no object is guarded any more.
import { DRAIN_MARKER } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { valueAt } from '../base/json.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';

export type DrainPhase = 'active' | 'draining' | 'drained';

export const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };

const phases: readonly DrainPhase[] = ['active', 'draining', 'drained'];

/** A missing marker means that nobody drains: it may have been deleted with its namespace. */
export function phaseOf(marker: KubernetesObject | undefined): DrainPhase {
  const phase = valueAt(marker, ['data', 'phase']);
  return phases.find((known) => known === phase) ?? 'active';
}

/** Writes the phase, creating the marker where it is missing. */
export async function setPhase(client: KubeClient, namespace: string, phase: DrainPhase): Promise<void> {
  const ref: ObjectRef = { resource: configMaps, namespace, name: DRAIN_MARKER };
  const data = { phase };
  try {
    await client.mergePatch(ref, { data });
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
    const metadata = { name: DRAIN_MARKER, namespace };
    await client.create(configMaps, namespace, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }
}
