import { type Clock, sleep } from './clock.ts';

export interface RateLimit {
  /** 0: no limit. */
  readonly perSecond: number;
  /** Tokens at once after a rest. */
  readonly burst: number;
}

/** A limit on calls: each takes a token, and tokens come back with time. */
export class TokenBucket {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** Below zero: taken in advance. */
  #left: number;
  #atMs: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#left = limit.burst;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes a token, or gives the seconds until there is one. Undefined where it was taken. */
  take(): number | undefined {
    const { perSecond } = this.#limit;
    if (perSecond === 0) return undefined;
    this.#refill();
    if (this.#left < 1) return (1 - this.#left) / perSecond;
    this.#left -= 1;
    return undefined;
  }

  /** Resolves when the call may be made, with the milliseconds it had to wait. Calls go in the order they came. */
  async acquire(signal: AbortSignal): Promise<number> {
    const { perSecond } = this.#limit;
    if (perSecond === 0) return 0;
    this.#refill();
    // Taken before waiting: tokens below zero are the queue, and each waiter's turn is its debt.
    this.#left -= 1;
    const waitMs = this.#left >= 0 ? 0 : (-this.#left / perSecond) * 1000;
    if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
    return waitMs;
  }

  /** What was taken shall not count. */
  giveBack(): void {
    this.#refill();
    this.#left = Math.min(this.#limit.burst, this.#left + 1);
  }

  #refill(): void {
    const now = this.#clock.monotonicMs();
    const { perSecond, burst } = this.#limit;
    this.#left = Math.min(burst, this.#left + ((now - this.#atMs) / 1000) * perSecond);
    this.#atMs = now;
  }
}
