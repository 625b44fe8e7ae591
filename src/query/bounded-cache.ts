import type { Clock } from '../base/clock.ts';

interface Entry<T> {
  readonly value: Promise<T>;
  readonly until: number;
}

/**
 * Answers kept for a while, of which there are never more than `capacity`: the oldest goes first. Callers that ask for
 * the same key at the same time share one call. A failure is not kept.
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

  get(key: string, load: () => Promise<T>): Promise<T> {
    const now = this.#clock.monotonicMs();
    const found = this.#entries.get(key);
    if (found !== undefined && now < found.until) return found.value;
    this.#entries.delete(key);
    const value = load();
    const entry = { value, until: now + this.#keepMs };
    this.#entries.set(key, entry);
    value.catch(() => this.#forget(key, entry));
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  #forget(key: string, entry: Entry<T>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
