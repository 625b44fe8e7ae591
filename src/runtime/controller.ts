import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { WorkQueue } from './work-queue.ts';

export type ReconcileResult = { readonly kind: 'done' } | { readonly kind: 'requeue-after'; readonly delayMs: number };

export const done: ReconcileResult = { kind: 'done' };

export interface ControllerOptions {
  readonly name: string;
  readonly workers: number;
  /** Upper bound of the wait before a failed key is tried again, in milliseconds. */
  readonly requeuePeriodMs: number;
  readonly reconcile: (key: string) => Promise<ReconcileResult>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const FIRST_RETRY_MS = 250;

/** Workers that take keys from one queue. All retry policy of the program is in `#settle` and `#fail`. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #failures = new Map<string, number>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue(options.clock);
  }

  enqueue(key: string): void {
    this.#queue.add(key);
  }

  /** Number of keys whose last attempt failed. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Tries every failed key at once, for example when the database is back, instead of when its wait is over. */
  retryFailed(): void {
    for (const key of this.#failures.keys()) this.#queue.add(key);
  }

  /** Works until aborted; resolves when every worker has finished the key it holds. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#queue.shutDown();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#work()));
    signal.removeEventListener('abort', stop);
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      try {
        this.#settle(key, await this.#options.reconcile(key));
      } catch (error) {
        this.#fail(key, error);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  #settle(key: string, result: ReconcileResult): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.delete(key);
    if (failures > 0) this.#options.logger.info({ key, failures }, 'Reconciled after failures');
    switch (result.kind) {
      case 'done':
        return;
      case 'requeue-after':
        this.#queue.addAfter(key, result.delayMs);
    }
  }

  /** Every failure is tried again: at first quickly, then every requeue period. Work is never dropped. */
  #fail(key: string, error: unknown): void {
    const { logger, requeuePeriodMs } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const hopeless = error instanceof CodedError && error.retry === 'no';
    const backoff = { baseMs: Math.min(FIRST_RETRY_MS, requeuePeriodMs), capMs: requeuePeriodMs, jitter: 0 };
    const retryInMs = hopeless ? requeuePeriodMs : backoffMs(backoff, failures);
    // The first failure is news; the repeats of an outage are not.
    const level = failures === 0 ? 'warn' : 'debug';
    logger[level]({ key, err: error, retryInMs }, 'Reconcile failed; trying again');
    this.#queue.addAfter(key, retryInMs);
  }
}
