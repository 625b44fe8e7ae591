// What is known of objects that clients change so often that the state which is stored is never the one that is released.
import type { Clock } from '../../base/clock.ts';

/** Objects whose lost races are remembered; of those beyond, the oldest begin anew. */
const REMEMBERED = 1000;

/** Since when objects of one kind lose the race between storing a state and releasing it. */
export class LostRaces {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #since = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** How long the object loses already. */
  lost(uid: string): number {
    const now = this.#clock.monotonicMs();
    const since = this.#since.get(uid) ?? now;
    this.#since.set(uid, since);
    const [oldest] = this.#since.keys();
    if (this.#since.size > REMEMBERED && oldest !== undefined) this.#since.delete(oldest);
    return now - since;
  }

  won(uid: string): void {
    this.#since.delete(uid);
  }
}

/** Takes the finalizer off. `held`: others still hold the object. */
export type Release = () => Promise<'leaves' | 'held'>;

/** Lets an object leave with a later state than is stored, where that state will be kept until it is stored. */
export interface LastStates {
  /** False where it may not leave so now. */
  readonly letGo: (uid: string, release: Release) => Promise<boolean>;
}
