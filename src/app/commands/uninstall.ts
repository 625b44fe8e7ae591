import { UNINSTALL_MARKER } from '../../api/names.ts';
import { systemClock } from '../../base/clock.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isNamespaceGone } from '../../kube/errors.ts';
import { configMaps } from '../../kube/resources.ts';
import { type UninstallProgress, type UninstallResult, uninstall } from '../../sync/uninstall/uninstall.ts';
import { phaseOf, setPhase } from '../../sync/uninstall/uninstall-marker.ts';
import { everyKind, resourceOf } from '../kinds.ts';
import { commandClient } from '../kube-client.ts';

export interface UninstallRun {
  readonly progress: UninstallProgress;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Every kind there is, whatever is configured now: an object may have been guarded under another configuration. */
export async function runUninstall(configuration: Configuration, run: UninstallRun): Promise<UninstallResult> {
  const client = commandClient(configuration, systemClock);
  const kinds = everyKind().map((kind) => ({ kind, resource: resourceOf(kind) }));
  try {
    return await uninstall({
      client,
      kinds,
      namespace: configuration.kubernetes.namespace,
      clock: systemClock,
      ...run,
    });
  } finally {
    await client.close();
  }
}

/** The reconciler guards again what it finds; admission comes back with the manifests. */
export async function undoUninstall(configuration: Configuration): Promise<void> {
  const client = commandClient(configuration, systemClock);
  try {
    await setPhase(client, configuration.kubernetes.namespace, 'active').catch((error: unknown) => {
      // What is not marked is not being uninstalled.
      if (!isNamespaceGone(error)) throw error;
    });
  } finally {
    await client.close();
  }
}

/**
 * Whether the bundle is being uninstalled. Read by a list with a field selector, as the reconciler watches it: its account has
 * only these rights.
 */
export async function uninstallPhase(
  client: Pick<KubeClient, 'list'>,
  { kubernetes: { namespace } }: Pick<Configuration, 'kubernetes'>,
  signal: AbortSignal,
): Promise<ReturnType<typeof phaseOf>> {
  const selection = { namespace, fieldSelector: `metadata.name=${UNINSTALL_MARKER}` };
  const { items } = await client.list(configMaps, { ...selection, limit: 1 }, signal);
  return phaseOf(items[0]?.parse());
}
