// Up to which resourceVersion everything of a kind is stored: what readers of MySQL need to know how fresh it is.
//
// A version that the watch has delivered is reached once every key that was unfinished at that moment has been worked on
// since, or is unfinished no more. A key that changes all the time does not hold the position back: a run that began
// after that moment has seen a state at least as new.
import type { ReconcileResult } from '../runtime/reconcile.ts';
import type { WatchPosition } from '../storage/metadata-storage.ts';

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
