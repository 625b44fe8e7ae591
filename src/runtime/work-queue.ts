// A queue of keys for level-triggered work.
//
// A key is in at most one place: ready (waiting for a worker), processing (held by one worker), or delayed (waiting for
// its time). Adding a key that is being processed marks it dirty, and it becomes ready again when its worker is done:
// so one key is never worked on twice at once, and no change that arrives during the work is lost.
import type { Clock } from '../base/clock.ts';

export class WorkQueue {
  readonly #clock: Clock;
  /** Insertion order is the order of handing out. */
  readonly #ready = new Set<string>();
  readonly #processing = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, { readonly dueMs: number; readonly cancel: () => void }>();
  readonly #waiters: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keys ready to be handed out. */
  get length(): number {
    return this.#ready.size;
  }

  /** Makes the key ready now; a pending delay is cancelled, because now is sooner. */
  add(key: string): void {
    if (this.#closed) return;
    this.#cancelDelay(key);
    if (this.#processing.has(key)) {
      this.#dirty.add(key);
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#ready.add(key);
      return;
    }
    this.#ready.delete(key);
    this.#processing.add(key);
    waiter(key);
  }

  /** Makes the key ready after the delay. Of several pending times the earliest wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed || this.#ready.has(key)) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const dueMs = this.#clock.monotonicMs() + delayMs;
    const pending = this.#delayed.get(key);
    if (pending !== undefined && pending.dueMs <= dueMs) return;
    pending?.cancel();
    const cancel = this.#clock.schedule(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, cancel });
  }

  /** The next key, held until `done`; undefined once the queue is shut down. */
  get(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const [key] = this.#ready;
    if (key === undefined) return new Promise((resolve) => this.#waiters.push(resolve));
    this.#ready.delete(key);
    this.#processing.add(key);
    return Promise.resolve(key);
  }

  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.delete(key)) this.add(key);
  }

  /** Drops what is queued and releases every waiting worker. The next start lists everything again. */
  shutDown(): void {
    this.#closed = true;
    this.#ready.clear();
    this.#dirty.clear();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }
}
