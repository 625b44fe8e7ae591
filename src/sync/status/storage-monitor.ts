import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { isOutage } from '../flows/outage-policy.ts';
import type { StorageAway } from '../flows/spooling-policy.ts';

export interface StorageMonitorOptions {
  readonly storage: MetadataStorage;
  readonly kinds: readonly KindDefinition[];
  readonly periodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called each time the database answers after it did not. */
  readonly onRecovered: () => void;
}

/** While the database is away everything waits for this answer. */
const AWAY_PERIOD_MS = 500;

/** Asks the database again and again whether it can be used, and logs each change of the answer once. */
export class StorageMonitor {
  readonly #options: StorageMonitorOptions;
  #problem: string | undefined = 'not checked yet';
  #since: Date | undefined;
  #away: { readonly since: Date; readonly sinceMs: number } | undefined;

  constructor(options: StorageMonitorOptions) {
    this.#options = options;
  }

  /** What keeps the database from being used; undefined when nothing does. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Since when it could not be used; undefined while it can, and before the first answer. */
  get problemSince(): Date | undefined {
    return this.#since;
  }

  /** Since when the database is away, and for how long by a clock that does not jump. Other problems are no outage. */
  get away(): StorageAway | undefined {
    if (this.#away === undefined) return undefined;
    return { since: this.#away.since, forMs: this.#options.clock.monotonicMs() - this.#away.sinceMs };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#check();
      const { clock, periodMs } = this.#options;
      await sleep(clock, this.#problem === undefined ? periodMs : Math.min(AWAY_PERIOD_MS, periodMs), signal);
    }
  }

  async #check(): Promise<void> {
    const { storage, kinds, logger, onRecovered } = this.#options;
    try {
      await storage.check(kinds);
      if (this.#problem === undefined) return;
      this.#problem = undefined;
      this.#since = undefined;
      this.#away = undefined;
      logger.info({}, 'Metadata storage is available');
      onRecovered();
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) logger.error({ err: error }, 'Metadata storage cannot be used; waiting for it');
      this.#problem = problem;
      const { clock } = this.#options;
      this.#since ??= clock.now();
      if (isOutage(error)) this.#away ??= { since: clock.now(), sinceMs: clock.monotonicMs() };
      else this.#away = undefined;
    }
  }
}
