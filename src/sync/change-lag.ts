// Which changes were seen and are not in MySQL yet, and how long each took. A change counts as stored when a run that
// began after it has ended without a failure, as for the position that readers of MySQL see.
import type { Clock } from '../base/clock.ts';
import type { KnownObject } from '../kube/watched-object.ts';
import { type Predicate, predicateFuncs } from '../runtime/predicate.ts';
import type { ReconcileResult } from '../runtime/reconcile.ts';

export interface ChangeLagOptions {
  readonly clock: Clock;
  readonly onStored: (seconds: number) => void;
}

export class ChangeLag {
  /** Lets every event pass and notes it; the last of the predicates, so that it sees what is worked on. */
  readonly noted: Predicate;
  readonly #options: ChangeLagOptions;
  /** Since when, by key, on the monotonic clock. Of several changes the oldest counts. */
  readonly #waiting = new Map<string, number>();
  /** Of a first list: not stored yet, but no change. */
  readonly #listed = new Map<string, number>();
  readonly #running = new Map<string, number>();

  constructor(options: ChangeLagOptions) {
    this.#options = options;
    const note = (map: Map<string, number>, { key }: KnownObject): true => {
      if (!map.has(key)) map.set(key, options.clock.monotonicMs());
      return true;
    };
    this.noted = predicateFuncs({
      create: ({ object, initial }) => note(initial ? this.#listed : this.#waiting, object),
      update: ({ after }) => note(this.#waiting, after),
      delete: ({ object }) => note(this.#waiting, object),
    });
  }

  /** Objects with a change that is not stored. */
  get changes(): number {
    return this.#waiting.size + this.#listed.size + this.#running.size;
  }

  get oldestSeconds(): number {
    let oldest = this.#options.clock.monotonicMs();
    const now = oldest;
    for (const map of [this.#waiting, this.#listed, this.#running]) {
      for (const since of map.values()) oldest = Math.min(oldest, since);
    }
    return (now - oldest) / 1000;
  }

  around(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    const changed = this.#waiting.get(key);
    const listed = this.#listed.get(key);
    const since = changed ?? listed;
    if (since === undefined) return reconcile();
    this.#waiting.delete(key);
    this.#listed.delete(key);
    this.#running.set(key, Math.min(since, listed ?? since));
    return this.#measured(key, { changed, listed }, reconcile);
  }

  async #measured(
    key: string,
    { changed, listed }: Readonly<Record<'changed' | 'listed', number | undefined>>,
    reconcile: () => Promise<ReconcileResult>,
  ): Promise<ReconcileResult> {
    const { clock, onStored } = this.#options;
    try {
      const result = await reconcile();
      if (changed !== undefined) onStored((clock.monotonicMs() - changed) / 1000);
      return result;
    } catch (error) {
      // Older than what came meanwhile.
      if (changed !== undefined) this.#waiting.set(key, changed);
      if (listed !== undefined) this.#listed.set(key, listed);
      throw error;
    } finally {
      this.#running.delete(key);
    }
  }
}
