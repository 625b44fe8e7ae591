import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { storageIn } from '../config/load.ts';

const PERIOD_MS = 10_000;

/**
 * Whether the reconciler's file says that metadata storage is off: then no reconciler takes the finalizer off. A file that
 * is missing or does not say so counts as on, because an object without the finalizer can be lost, and one that has it too
 * much waits and is told of. For the same reason it goes on as soon as the file says so, and off at a start only: a
 * reconciler that still runs on the file of before would have objects that nobody guards.
 */
export function watchStorageSwitch({
  file,
  clock,
  logger,
}: {
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}): () => boolean {
  let off = storageIn(file) === false;
  let lookedMs = clock.monotonicMs();
  if (off) logger.warn({ file }, 'Metadata storage is off: no new object is given the finalizer');
  return () => {
    if (off && clock.monotonicMs() - lookedMs >= PERIOD_MS) {
      lookedMs = clock.monotonicMs();
      off = storageIn(file) === false;
      if (!off) logger.info({ file }, 'Metadata storage is on: new objects are given the finalizer');
    }
    return off;
  };
}
