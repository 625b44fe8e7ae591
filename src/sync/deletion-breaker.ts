// Stops a mass deletion that nobody meant, such as the prune of an empty render: rows stay as they are and objects stay
// Terminating until a person says go on.
import type { Clock } from '../base/clock.ts';

export interface BreakerLimits {
  /** Rows of the kind marked as deleted within a minute; 0 for no limit. */
  readonly deletionsPerMinute: number;
  /** The same as a share of the objects of the kind; 0 for no limit. */
  readonly deletionsPercent: number;
}

/** Where open breakers are kept, so that a restart does not close them. */
export interface BreakerState {
  /** Why deletions of the kind are held; undefined where they are not. */
  openBecause(kind: string): string | undefined;
  open(kind: string, because: string): void;
  /** Whether a person has said that deletions of the kind are meant. */
  overridden(kind: string): boolean;
}

export interface DeletionBreakerOptions {
  readonly kind: string;
  readonly limits: BreakerLimits;
  /** Objects of the kind in the API server now. */
  readonly total: () => number;
  readonly state: BreakerState;
  readonly clock: Clock;
}

const WINDOW_MS = 60_000;
/** Half of three objects is no mass deletion. */
const LEAST_FOR_PERCENT = 10;

export class DeletionBreaker {
  readonly #options: DeletionBreakerOptions;
  /** uid → when it was admitted; in order of time. */
  readonly #admitted = new Map<string, number>();

  constructor(options: DeletionBreakerOptions) {
    this.#options = options;
  }

  /** Counts the deletion and lets it pass, or says why it has to wait. */
  admit(uid: string): string | undefined {
    const { kind, state, clock } = this.#options;
    const open = state.openBecause(kind);
    if (open !== undefined) return open;
    this.#forgetOld(clock.monotonicMs());
    if (this.#admitted.has(uid)) return undefined;
    const because = state.overridden(kind) ? undefined : this.#tooMany();
    if (because === undefined) {
      this.#admitted.set(uid, clock.monotonicMs());
      return undefined;
    }
    state.open(kind, because);
    this.#admitted.clear();
    return because;
  }

  #tooMany(): string | undefined {
    const { kind, limits, total } = this.#options;
    const { deletionsPerMinute, deletionsPercent } = limits;
    const count = this.#admitted.size + 1;
    if (deletionsPerMinute > 0 && count > deletionsPerMinute) {
      return `More than ${deletionsPerMinute} objects of ${kind} were to be deleted within a minute. ${advice(kind)}`;
    }
    // Some of those admitted are gone already, some are still there.
    const known = Math.max(total(), count);
    if (deletionsPercent > 0 && count >= LEAST_FOR_PERCENT && count > (known * deletionsPercent) / 100) {
      return `More than ${deletionsPercent} % of the objects of ${kind} were to be deleted within a minute. ${advice(kind)}`;
    }
    return undefined;
  }

  #forgetOld(nowMs: number): void {
    for (const [uid, atMs] of this.#admitted) {
      if (nowMs - atMs < WINDOW_MS) return;
      this.#admitted.delete(uid);
    }
  }
}

function advice(kind: string): string {
  return `Nothing is lost; they wait. If it is meant: ingester resume ${kind}.`;
}
