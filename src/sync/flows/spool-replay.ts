import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { repeat } from '../../base/repeat.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { lenientEncoder } from '../row.ts';
import type { Spool } from './spool.ts';
import type { StorageAway } from './spooling-policy.ts';

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
