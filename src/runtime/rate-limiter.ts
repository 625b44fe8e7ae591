import { backoffMs } from '../base/backoff.ts';

export interface RetryOptions {
  /** Wait after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Longest wait, in milliseconds. */
  readonly capMs: number;
}

/** Of controllers whose work is calls over a network, which 5 ms later fail again. */
export function retryUpTo(capMs: number): RetryOptions {
  return { baseMs: 250, capMs };
}

/** Of controller-runtime. */
export const defaultRetry: RetryOptions = { baseMs: 5, capMs: 1_000_000 };

/**
 * How long a key waits before it is tried again: each failure doubles the wait of that key, up to the cap. There is no
 * limit over all keys: one outage must not delay the rest.
 */
export class ItemExponentialRateLimiter {
  readonly #options: RetryOptions;
  readonly #failures = new Map<string, number>();

  constructor(options: RetryOptions = defaultRetry) {
    this.#options = options;
  }

  /** Counts a failure of the key and returns its wait in milliseconds. */
  when(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return backoffMs({ ...this.#options, jitter: 0 }, failures);
  }

  /** The key succeeded, or is given up: its next failure is its first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }
}
