import { type Clock, sleep } from '../../base/clock.ts';

/** Limits the calls of one client. A rate of zero means no limit: the API server's own fairness decides. */
export interface RateLimit {
  readonly queriesPerSecond: number;
  readonly burst: number;
}

/** A token bucket whose waiters are served in the order they came. */
export class RequestLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #updatedMs: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#updatedMs = clock.monotonicMs();
  }

  /** Resolves when the call may be made, with the milliseconds it had to wait. */
  async acquire(signal: AbortSignal): Promise<number> {
    const { queriesPerSecond } = this.#limit;
    if (queriesPerSecond === 0) return 0;
    this.#refill();
    // Taken before waiting: tokens below zero are the queue, and each waiter's turn is its debt.
    this.#tokens -= 1;
    const waitMs = this.#tokens >= 0 ? 0 : (-this.#tokens / queriesPerSecond) * 1000;
    if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
    return waitMs;
  }

  #refill(): void {
    const now = this.#clock.monotonicMs();
    const { queriesPerSecond, burst } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#updatedMs) / 1000) * queriesPerSecond);
    this.#updatedMs = now;
  }
}
