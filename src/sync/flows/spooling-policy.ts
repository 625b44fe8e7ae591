import type { KubernetesObject } from '../../api/object.ts';
import type { OutagePolicy, UnsavedEnding } from './outage-policy.ts';
import type { Spool } from './spool.ts';

export interface SpoolingPolicyOptions {
  readonly spool: Pick<Spool, 'append'>;
  /** How long MySQL must have been away, and the object have been Terminating. */
  readonly afterMs: number;
  readonly away: () => StorageAway | undefined;
}

/** MySQL does not answer. */
export interface StorageAway {
  /** By the time of day when that began. */
  readonly since: Date;
  /** By a clock that does not jump. */
  readonly forMs: number;
}

/** Removes finalizers after a while without MySQL, with the final states on disk. */
export class SpoolingPolicy implements OutagePolicy {
  readonly #options: SpoolingPolicyOptions;

  constructor(options: SpoolingPolicyOptions) {
    this.#options = options;
  }

  isDue({ metadata }: KubernetesObject): boolean {
    const { afterMs, away } = this.#options;
    const now = away();
    if (now === undefined || metadata.deletionTimestamp === undefined) return false;
    // Times of day only say how much later than MySQL's absence the deletion began: a changed clock cannot make it due
    // early.
    const laterMs = Math.max(0, Date.parse(metadata.deletionTimestamp) - now.since.getTime());
    return now.forMs - laterMs >= afterMs;
  }

  keep(unsaved: UnsavedEnding): Promise<boolean> {
    return this.#options.spool.append(unsaved);
  }
}
