import { systemClock } from '../base/clock.ts';
import type { Configuration } from '../config/schema.ts';
import { type DrainProgress, type DrainResult, drain } from '../sync/drain.ts';
import { setPhase } from '../sync/drain-marker.ts';
import { commandClient } from './command-client.ts';
import { everyKind, resourceOf } from './kinds.ts';

export interface DrainRun {
  readonly progress: DrainProgress;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Every kind there is, whatever is configured now: an object may have been guarded under another configuration. */
export async function runDrain(configuration: Configuration, run: DrainRun): Promise<DrainResult> {
  const client = commandClient(configuration, systemClock);
  const kinds = everyKind(configuration).map((kind) => ({ kind, resource: resourceOf(kind) }));
  try {
    return await drain({ client, kinds, namespace: configuration.drain.namespace, clock: systemClock, ...run });
  } finally {
    await client.close();
  }
}

/** The reconciler guards again what it finds; admission comes back with the manifests. */
export async function undoDrain(configuration: Configuration): Promise<void> {
  const client = commandClient(configuration, systemClock);
  try {
    await setPhase(client, configuration.drain.namespace, 'active');
  } finally {
    await client.close();
  }
}
