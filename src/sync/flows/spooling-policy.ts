import type { KubernetesObject } from '../../api/object.ts';
import { type Clock, repeat, within } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { SpoolDiskError } from '../errors.ts';
import { lenientEncoder } from '../row.ts';
import type { OutagePolicy, UnsavedEnding } from './outage-policy.ts';
import type { Spool } from './spool.ts';

export interface SpoolingPolicyOptions {
  readonly spool: Pick<Spool, 'append'>;
  /** How long MySQL must have been away, and the object have been Terminating. */
  readonly afterMs: number;
  readonly away: () => StorageAway | undefined;
  readonly clock: Clock;
  /** How long the disk may take; half a minute where it is missing. */
  readonly diskMs?: number;
}

/** Nothing is written to a disk this slowly: its server is gone. */
const DISK_MS = 30_000;

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
  /** Calls that the disk did not answer in time, and has not answered since. */
  #overdue = 0;

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

  /** A call to a disk cannot be broken off. While one is overdue, no other object waits behind it. */
  keep(unsaved: UnsavedEnding): Promise<boolean> {
    const { spool, clock, diskMs = DISK_MS } = this.#options;
    if (this.#overdue > 0) return Promise.reject(new SpoolDiskError('it still does not answer'));
    const appended = spool.append(unsaved);
    const answered = (): void => void (this.#overdue -= 1);
    return within(
      { clock, timeoutMs: diskMs },
      () => appended,
      () => {
        this.#overdue += 1;
        appended.then(answered, answered);
        throw new SpoolDiskError(`no answer within ${diskMs} ms`);
      },
    );
  }
}

const REPLAY_MS = 5000;

/** Brings final states of objects that left without MySQL into MySQL, whenever it answers. */
export async function replaySpool(
  spool: Spool,
  parts: {
    readonly storage: MetadataStorage;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly away: () => StorageAway | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  const { storage, clock, logger, away } = parts;
  const encode = lenientEncoder(logger);
  await repeat({ clock, periodMs: REPLAY_MS, signal }, async () => {
    if (away() !== undefined) return;
    try {
      const count = await spool.replay(storage, encode);
      if (count > 0) logger.info({ count }, 'Final states that were kept on disk are in MySQL');
    } catch (error) {
      logger.warn({ err: error }, 'The spool could not be written to MySQL; trying again');
    }
  });
}
