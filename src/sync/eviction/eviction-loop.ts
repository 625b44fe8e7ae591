import type { KindDefinition } from '../../api/kind.ts';
import { objectKey } from '../../api/object.ts';
import { isAborted, untilAborted } from '../../base/abort.ts';
import { type Clock, sleep, waitUntil } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import type { IdentityStore } from '../../kube/store.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import type { Coverage } from '../startup/coverage.ts';
import { rowsInCluster } from '../startup/difference.ts';
import type { EvictionRule } from './eviction-rules.ts';
import { type ChosenObjects, scan } from './eviction-scan.ts';

export interface EvictionLoopOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly rules: readonly EvictionRule[];
  readonly chosen: ChosenObjects;
  /** Whether an object is this replica's: rules rank all objects, and each replica evicts its own. */
  readonly keeps?: ((object: { readonly uid: string }) => boolean) | undefined;
  /** Whether the list of objects is complete. */
  readonly isReady: () => boolean;
  /** The evictions under way of objects that carry no mark themselves. */
  readonly requested: () => Promise<readonly StoredIdentity[]>;
  readonly enqueue: (key: string) => void;
  readonly paused: () => boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const READY_POLL_MS = 1000;

/**
 * Evaluates the rules of one kind periodically, and withdraws evictions that they no longer ask for. Without rules only
 * the latter, once.
 */
export async function runEvictionLoop(options: EvictionLoopOptions, signal: AbortSignal): Promise<void> {
  const { rules, isReady, intervalMs, clock } = options;
  await waitUntil({ clock, periodMs: Math.min(intervalMs, READY_POLL_MS), signal }, isReady);
  while (!isAborted(signal)) {
    if ((await askRules(options, signal)) && rules.length === 0) return untilAborted(signal);
    await sleep(clock, intervalMs, signal);
  }
}

/** Whether they could be asked. */
async function askRules(options: EvictionLoopOptions, signal: AbortSignal): Promise<boolean> {
  const { chosen, rules, requested, enqueue, paused, logger, keeps = () => true } = options;
  if (paused()) {
    chosen.replace([]);
    return false;
  }
  try {
    // In this order: an eviction that is requested after the rules were evaluated was chosen elsewhere meanwhile.
    const before = await requested();
    chosen.replace(rules.length === 0 ? [] : (await scan(options, signal)).filter(keeps), before);
    const [keys, withdrawn] = [chosen.keys(), chosen.withdrawnKeys()];
    if (keys.length > 0) logger.info({ count: keys.length }, 'Rules have chosen objects for eviction');
    if (withdrawn.length > 0) logger.info({ count: withdrawn.length }, 'Evictions that no rule asks for are withdrawn');
    for (const key of [...keys, ...withdrawn]) enqueue(key);
    return true;
  } catch (error) {
    // The CRD may come later than this program; what cannot be answered now is asked again.
    if (!isKubeError(error, 'NotFound') && !isAborted(signal))
      logger.warn({ err: error }, 'The eviction rules could not be asked; trying again');
    return false;
  }
}

export interface RequestedOptions {
  readonly kind: KindDefinition;
  readonly storage: MetadataStorage;
  readonly store: Pick<IdentityStore, 'identity'>;
  readonly coverage: Pick<Coverage, 'isPlain'>;
}

/**
 * The evictions under way of objects that are as they were when that was requested and carry no mark, so that only a rule,
 * or a setting, can have asked.
 */
export async function requestedEvictions(options: RequestedOptions): Promise<readonly StoredIdentity[]> {
  const { kind, storage, store, coverage } = options;
  const found: StoredIdentity[] = [];
  for await (const page of rowsInCluster(storage, kind, ['evicting'])) {
    for (const row of page) {
      const key = objectKey({ metadata: row });
      const seen = store.identity(key);
      const isSame = seen?.uid === row.uid && seen.resourceVersion === row.resourceVersion;
      if (isSame && coverage.isPlain(key)) found.push(row);
    }
  }
  return found;
}
