import { onAbort } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';

interface Entry<T> {
  readonly value: Promise<T>;
  /** Ends the work. */
  readonly stop: AbortController;
  /** Callers that wait for it. */
  waiting: number;
  until: number;
}

/**
 * Answers kept for a while, of which there are never more than `capacity`: the oldest goes first. Callers that ask for
 * the same key at the same time share one call, which is aborted when the last of them has gone. A failure is not kept.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #keepMs: number;

  constructor(options: { readonly clock: Clock; readonly capacity: number; readonly keepMs: number }) {
    this.#clock = options.clock;
    this.#capacity = options.capacity;
    this.#keepMs = options.keepMs;
  }

  /** `waiter` says that the caller has gone. */
  get(key: string, load: (signal: AbortSignal) => Promise<T>, waiter: AbortSignal): Promise<T> {
    const found = this.#entries.get(key);
    const fresh = found !== undefined && this.#clock.monotonicMs() < found.until;
    const entry = fresh ? found : this.#load(key, load);
    this.#await(key, entry, waiter);
    return entry.value;
  }

  has(key: string): boolean {
    return this.#clock.monotonicMs() < (this.#entries.get(key)?.until ?? 0);
  }

  set(key: string, value: T): void {
    this.#load(key, () => Promise.resolve(value));
  }

  #load(key: string, load: (signal: AbortSignal) => Promise<T>): Entry<T> {
    const stop = new AbortController();
    const entry: Entry<T> = { value: load(stop.signal), stop, waiting: 0, until: Number.POSITIVE_INFINITY };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.value.then(
      () => {
        entry.until = this.#clock.monotonicMs() + this.#keepMs;
      },
      () => this.#forget(key, entry),
    );
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  #await(key: string, entry: Entry<T>, waiter: AbortSignal): void {
    entry.waiting += 1;
    const leave = onAbort(waiter, () => {
      entry.waiting -= 1;
      if (entry.waiting > 0 || entry.until !== Number.POSITIVE_INFINITY) return;
      this.#forget(key, entry);
      entry.stop.abort(waiter.reason);
    });
    entry.value.then(leave, leave);
  }

  #forget(key: string, entry: Entry<T>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
