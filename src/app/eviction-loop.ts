import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { EvictionRule } from '../sync/eviction-rules.ts';
import { type ChosenObjects, scan } from '../sync/eviction-scan.ts';

export interface EvictionLoopOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly rules: readonly EvictionRule[];
  readonly chosen: ChosenObjects;
  readonly enqueue: (key: string) => void;
  readonly paused: () => boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Asks the rules of one kind again and again which objects may go. */
export async function runEvictionLoop(options: EvictionLoopOptions, signal: AbortSignal): Promise<void> {
  const { chosen, enqueue, paused, intervalMs, clock, logger } = options;
  while (!signal.aborted) {
    try {
      chosen.replace(paused() ? [] : await scan(options, signal));
      const keys = chosen.keys();
      if (keys.length > 0) logger.info({ count: keys.length }, 'Rules have chosen objects for eviction');
      for (const key of keys) enqueue(key);
    } catch (error) {
      // The CRD may come later than this program; what the API server cannot answer now is asked again.
      if (!isKubeError(error, 'NotFound') && !isAborted(signal))
        logger.warn({ err: error }, 'The eviction rules could not be asked; trying again');
    }
    await sleep(clock, intervalMs, signal);
  }
}
