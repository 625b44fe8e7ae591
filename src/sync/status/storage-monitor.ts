import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { ShardUnavailableError } from '../../storage/errors.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { isOutage } from '../flows/outage-policy.ts';
import type { StorageAway } from '../flows/spooling-policy.ts';

export interface StorageMonitorOptions {
  readonly storage: MetadataStorage;
  readonly kinds: readonly KindDefinition[];
  readonly periodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called at each check after which it can be used, or a part of it: of several shards those that answer. */
  readonly onUsable?: () => void;
  /** Called each time the database answers after it did not. */
  readonly onRecovered: () => void;
}

/** Of a check; what is said after it is that the database is silent, and the check goes on. */
const SILENT_MS = 5000;
/** While the database is away everything waits for this answer. */
const AWAY_PERIOD_MS = 500;

/** Asks the database again and again whether it can be used, and logs each change of the answer once. */
export class StorageMonitor {
  readonly #options: StorageMonitorOptions;
  #problem: string | undefined = 'not checked yet';
  #since: Date | undefined;
  /** Problems since it was last available. */
  readonly #told = new Set<string>();
  #asked: { readonly since: Date; readonly sinceMs: number } | undefined;
  #away: { readonly since: Date; readonly sinceMs: number } | undefined;

  constructor(options: StorageMonitorOptions) {
    this.#options = options;
  }

  /** What keeps the database from being used; undefined when nothing does. */
  get problem(): string | undefined {
    return this.#problem ?? this.#silence?.problem;
  }

  /** Since when it could not be used; undefined while it can, and before the first answer. */
  get problemSince(): Date | undefined {
    return this.#since ?? this.#silence?.since;
  }

  get #silence(): { readonly problem: string; readonly since: Date } | undefined {
    if (this.#asked === undefined) return undefined;
    const { since, sinceMs } = this.#asked;
    if (this.#options.clock.monotonicMs() - sinceMs < SILENT_MS) return undefined;
    return { problem: `MySQL has not answered for more than ${SILENT_MS / 1000} s; waiting for its answer`, since };
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

  #after(): { readonly after?: string; readonly seconds?: number } {
    const { clock } = this.#options;
    if (this.#since === undefined || this.#problem === undefined) return {};
    return { after: this.#problem, seconds: Math.round((clock.now().getTime() - this.#since.getTime()) / 1000) };
  }

  async #check(): Promise<void> {
    const { storage, kinds, logger, onUsable, onRecovered, clock } = this.#options;
    const asked = { since: clock.now(), sinceMs: clock.monotonicMs() };
    this.#asked = asked;
    try {
      await storage.check(kinds).finally(() => (this.#asked = undefined));
      onUsable?.();
      if (this.#problem === undefined) return;
      logger.info({ ...this.#after() }, 'Metadata storage is available');
      this.#problem = undefined;
      this.#since = undefined;
      this.#away = undefined;
      this.#told.clear();
      onRecovered();
    } catch (error) {
      if (error instanceof ShardUnavailableError) onUsable?.();
      const problem = messageOf(error);
      // A server on its way down or up changes between a few problems; each is told once.
      if (!this.#told.has(problem)) logger.error({ err: error }, 'Metadata storage cannot be used; waiting for it');
      this.#told.add(problem);
      this.#problem = problem;
      // A question that was not answered began when it was asked: what was said of its silence goes on.
      this.#since ??= asked.since;
      if (isOutage(error)) this.#away ??= { since: clock.now(), sinceMs: clock.monotonicMs() };
      else this.#away = undefined;
    }
  }
}
