// Up to which resourceVersion everything of a kind is stored: what readers of MySQL need to know how fresh it is.
//
// A version that the watch has delivered is reached once every key that was unfinished at that moment has been worked on
// since, or is unfinished no more. A key that changes all the time does not hold the position back: a run that began
// after that moment has seen a state at least as new.
import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';
import type { MetadataStorage, PositionPart, WatchPosition } from '../../storage/metadata-storage.ts';

interface Candidate {
  readonly position: WatchPosition;
  readonly waiting: Set<string>;
}

async function workedOn(
  candidate: Candidate,
  key: string,
  reconcile: () => Promise<ReconcileResult>,
): Promise<ReconcileResult> {
  const result = await reconcile();
  candidate.waiting.delete(key);
  return result;
}

export class PositionTracker {
  #candidate: Candidate | undefined;
  #recorded = '';

  /** Runs a reconcile and notes that its key has been worked on. */
  around(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    return this.#candidate === undefined ? reconcile() : workedOn(this.#candidate, key, reconcile);
  }

  /**
   * To be called again and again with what the watch has delivered and what is not finished. The position that is
   * reached; undefined where none is, or none newer than the last.
   */
  sample(position: WatchPosition, unfinished: ReadonlySet<string>): WatchPosition | undefined {
    const candidate = this.#candidate ?? { position, waiting: new Set(unfinished) };
    this.#candidate = candidate;
    for (const key of candidate.waiting) if (!unfinished.has(key)) candidate.waiting.delete(key);
    if (candidate.waiting.size > 0) return undefined;
    this.#candidate = undefined;
    if (candidate.position.resourceVersion === this.#recorded) return undefined;
    this.#recorded = candidate.position.resourceVersion;
    return candidate.position;
  }

  /** The last position could not be stored: it is given once more. */
  repeat(): void {
    this.#recorded = '';
  }
}

export interface TrackedKind {
  readonly kind: KindDefinition;
  readonly informer: { readonly resourceVersion: string; readonly changedVersion: string };
  readonly controller: { unfinished(): ReadonlySet<string> | undefined };
  readonly positions: PositionTracker;
}

interface Recording {
  readonly storage: Pick<MetadataStorage, 'recordPosition'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What the positions are about, where several replicas share the kinds. */
  readonly part?: Omit<PositionPart, 'changed'> | undefined;
}

/** Period between two writes of the position. */
const PERIOD_MS = 1000;

/** Notes in MySQL, until the signal, up to which resourceVersion each kind is stored. */
export async function recordPositions(
  kinds: readonly TrackedKind[],
  recording: Recording,
  signal: AbortSignal,
): Promise<void> {
  await repeat({ clock: recording.clock, periodMs: PERIOD_MS, signal }, async () => {
    for (const kind of kinds) await recordPosition(kind, recording);
  });
}

async function recordPosition(
  { kind, informer, controller, positions }: TrackedKind,
  { storage, clock, logger, part }: Recording,
): Promise<void> {
  // In this order: what is delivered after the version was read may be unfinished too, which only makes it later.
  const { resourceVersion, changedVersion: changed } = informer;
  const unfinished = controller.unfinished();
  if (resourceVersion === '' || unfinished === undefined) return;
  const reached = positions.sample({ resourceVersion, at: clock.now() }, unfinished);
  if (reached === undefined) return;
  try {
    await storage.recordPosition(kind, part === undefined ? reached : { ...reached, part: { ...part, changed } });
  } catch (error) {
    positions.repeat();
    logger.debug({ kind: kind.kind, problem: messageOf(error) }, 'The position could not be noted; trying again');
  }
}
