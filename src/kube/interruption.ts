// That a reflector sees nothing of its resource, because lists and watches fail one after the other: the API server refuses
// them, or cannot read an object of its own. The status says since when and why, and the watchdog tells of it.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Watchdog, WatchedWork } from '../base/watchdog.ts';

export interface Interruption {
  readonly since: Date;
  /** The last failure. */
  readonly reason: string;
}

export interface InterruptionOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watchdog: Pick<Watchdog, 'register'> | undefined;
  /** Plural name of the resource. */
  readonly plural: string;
}

/** What lasts longer is told. */
const LIMIT_MS = 45_000;

export class InterruptionWatch {
  readonly #options: InterruptionOptions;
  #interruption: Interruption | undefined;
  #work: WatchedWork | undefined;
  #untilMs = 0;
  #told = false;

  constructor(options: InterruptionOptions) {
    this.#options = options;
  }

  get interruption(): Interruption | undefined {
    return this.#interruption;
  }

  /** A list or a watch failed, the latter after a silence. */
  failed(reason: string, silentMs = 0): void {
    const { clock } = this.#options;
    if (this.#interruption === undefined) this.#untilMs = clock.monotonicMs() + LIMIT_MS - silentMs;
    const { since = new Date(clock.now().getTime() - silentMs) } = this.#interruption ?? {};
    this.#interruption = { since, reason };
    this.#work ??= this.#register(this.#untilMs - clock.monotonicMs());
  }

  /** A list gets through, and may take its time. Whether a watch does shows afterwards; what was told holds until then. */
  listed(): void {
    if (!this.#told) this.#release();
  }

  /** A watch stands, or there is nothing to see. */
  end(): void {
    if (this.#interruption === undefined) return;
    this.#interruption = undefined;
    this.#told = false;
    this.#release();
    // What was told is over: work of that name gets on.
    this.#register(LIMIT_MS)?.done();
  }

  #release(): void {
    this.#work?.done();
    this.#work = undefined;
  }

  #register(limitMs: number): WatchedWork | undefined {
    const { logger, plural, watchdog } = this.#options;
    return watchdog?.register(`watch ${plural}`, limitMs, () => {
      this.#told = true;
      logger.error({ resource: plural, ...this.#interruption }, 'Lists and watches fail; trying again and again');
    });
  }
}
