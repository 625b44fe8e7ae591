import type { KubernetesObject } from '../api/object.ts';
import type { OutageRelease, UnsavedEnding } from './outage-release.ts';
import type { Spool } from './spool.ts';

export interface SpoolingReleaseOptions {
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

/** Releases objects after a while without MySQL, with their final states on disk. */
export class SpoolingRelease implements OutageRelease {
  readonly #options: SpoolingReleaseOptions;

  constructor(options: SpoolingReleaseOptions) {
    this.#options = options;
  }

  isDue({ metadata }: KubernetesObject): boolean {
    const { afterMs, away } = this.#options;
    const now = away();
    if (now === undefined || metadata.deletionTimestamp === undefined) return false;
    // Times of day only say how much later than MySQL's absence the deletion began: whoever sets a clock releases nothing.
    const laterMs = Math.max(0, Date.parse(metadata.deletionTimestamp) - now.since.getTime());
    return now.forMs - laterMs >= afterMs;
  }

  keep(unsaved: UnsavedEnding): Promise<boolean> {
    return this.#options.spool.append(unsaved);
  }
}
