import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import type { OutageRelease, UnsavedEnding } from './outage-release.ts';
import type { Spool } from './spool.ts';

export interface SpoolingReleaseOptions {
  readonly spool: Spool;
  /** How long MySQL must have been away, and the object have been Terminating. */
  readonly afterMs: number;
  /** Since when MySQL has been away, as everybody sees it; undefined while it answers. */
  readonly awaySince: () => Date | undefined;
  readonly clock: Clock;
}

/** Releases objects after a while without MySQL, with their final states on disk. */
export class SpoolingRelease implements OutageRelease {
  readonly #options: SpoolingReleaseOptions;

  constructor(options: SpoolingReleaseOptions) {
    this.#options = options;
  }

  isDue({ metadata }: KubernetesObject): boolean {
    const { afterMs, awaySince, clock } = this.#options;
    const away = awaySince();
    if (away === undefined || metadata.deletionTimestamp === undefined) return false;
    const sinceMs = Math.max(away.getTime(), Date.parse(metadata.deletionTimestamp));
    return clock.now().getTime() - sinceMs >= afterMs;
  }

  keep(unsaved: UnsavedEnding): Promise<boolean> {
    return this.#options.spool.append(unsaved);
  }
}
