/** How long a key waits before it is tried again. There is no limit over all keys: one outage must not delay the rest. */
export interface RateLimiter {
  /** Counts a failure of the key and returns its wait in milliseconds. */
  when(key: string): number;
  /** The key succeeded, or is given up: its next failure is its first. */
  forget(key: string): void;
  /** Failures counted since the key was last forgotten. */
  numRequeues(key: string): number;
}

export interface RetryOptions {
  /** Wait after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Longest wait, in milliseconds. */
  readonly capMs: number;
}

export const defaultRetry: RetryOptions = { baseMs: 5, capMs: 1_000_000 };

/** Above this power of two the product is no longer exact, and far beyond any cap. */
const MAX_DOUBLINGS = 52;

/** Each failure doubles the wait of that key, up to the cap. */
export class ItemExponentialRateLimiter implements RateLimiter {
  readonly #options: RetryOptions;
  readonly #failures = new Map<string, number>();

  constructor(options: RetryOptions = defaultRetry) {
    this.#options = options;
  }

  when(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#options.baseMs * 2 ** Math.min(failures, MAX_DOUBLINGS), this.#options.capMs);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  numRequeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}
