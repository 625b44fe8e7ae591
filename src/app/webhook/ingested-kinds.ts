import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { ingestedIn } from '../../config/load.ts';
import { everyKind } from '../kinds.ts';

const PERIOD_MS = 10_000;

export interface IngestedKindsOptions {
  /** The file of the reconciler. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Whether a reconciler takes the finalizer off objects of a kind. None does where the reconciler's file says that metadata
 * storage is off, or leaves the kind out. Where the file is missing or unclear, every kind counts as ingested: an object
 * without the finalizer can be lost, while one that has it needlessly only waits, and that is reported. For the same reason a
 * kind is added as soon as the file has it, but left out at a start only: a reconciler that still runs on the earlier file
 * would have objects without a finalizer.
 */
export function watchIngestedKinds({ file, clock, logger }: IngestedKindsOptions): (kind: string) => boolean {
  const read = (): readonly string[] => ingestedIn(file) ?? everyKind().map(({ kind }) => kind);
  const ingested = new Set(read());
  let lookedMs = clock.monotonicMs();
  const left = everyKind().filter(({ kind, optional }) => !optional && !ingested.has(kind));
  if (left.length > 0) {
    const why = ingested.size === 0 ? 'metadata storage is off' : 'they are not ingested';
    logger.warn(
      { file, kinds: left.map(({ kind }) => kind) },
      `New objects of these kinds are not given the finalizer: ${why}`,
    );
  }
  const lookAgain = (): void => {
    if (clock.monotonicMs() - lookedMs < PERIOD_MS) return;
    lookedMs = clock.monotonicMs();
    const added = read().filter((kind) => !ingested.has(kind));
    for (const kind of added) ingested.add(kind);
    if (added.length > 0) logger.info({ file, kinds: added }, 'New objects of these kinds are given the finalizer now');
  };
  return (kind) => {
    if (!ingested.has(kind)) lookAgain();
    return ingested.has(kind);
  };
}
