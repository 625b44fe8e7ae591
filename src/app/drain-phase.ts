import { DRAIN_MARKER } from '../api/names.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { configMaps, phaseOf } from '../sync/drain-marker.ts';

/** Whether the bundle is drained. By a list of one, as the reconciler watches it: its account may do that, and no more. */
export async function drainPhase(
  client: Pick<KubeClient, 'list'>,
  { drain }: Pick<Configuration, 'drain'>,
  signal: AbortSignal,
): Promise<ReturnType<typeof phaseOf>> {
  const selection = { namespace: drain.namespace, fieldSelector: `metadata.name=${DRAIN_MARKER}` };
  const { items } = await client.list(configMaps, { ...selection, limit: 1 }, signal);
  return phaseOf(items[0]);
}
