// Stops a mass deletion by mistake, such as the prune of an empty render: rows stay as they are and objects stay
// Terminating until an operator lets them go on.
//
// What counts is an object whose row is newly ended, once, and only if that happened. Where most of what counts comes from
// one namespace, only that namespace is held, so that a user with one namespace cannot stop the others.
import type { Clock } from '../../base/clock.ts';

export interface BreakerLimits {
  /** Rows of the kind marked as deleted within a minute; 0 for no limit. */
  readonly deletionsPerMinute: number;
  /** The same as a share of the objects of the kind; 0 for no limit. */
  readonly deletionsPercent: number;
  /** Fewer are no mass deletion, whatever their share; 10 unless given. */
  readonly leastForPercent?: number;
}

/** What a breaker holds: a kind, or what a namespace has of it. */
export interface BreakerScope {
  readonly kind: string;
  readonly namespace?: string;
}

/** Where open breakers are kept, so that a restart does not close them. */
export interface BreakerState {
  /** Why deletions of the kind in this namespace are held; undefined where they are not. */
  openBecause(kind: string, namespace: string): string | undefined;
  open(scope: BreakerScope, because: string): void;
  /** Whether an operator has said that deletions of the kind are meant. */
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

interface Deletion {
  readonly uid: string;
  readonly namespace: string;
}

const WINDOW_MS = 60_000;
/** Half of three objects is no mass deletion. */
export const LEAST_FOR_PERCENT = 10;

export class DeletionBreaker {
  readonly #options: DeletionBreakerOptions;
  /** By uid, in order of time. */
  readonly #counted = new Map<string, { readonly namespace: string; readonly atMs: number }>();

  constructor(options: DeletionBreakerOptions) {
    this.#options = options;
  }

  /** Counts the deletion and lets it pass, or says why it has to wait. */
  admit({ uid, namespace }: Deletion): string | undefined {
    const { kind, state, clock } = this.#options;
    const open = state.openBecause(kind, namespace);
    if (open !== undefined) return open;
    this.#forgetOld(clock.monotonicMs());
    if (this.#counted.has(uid)) return undefined;
    this.#counted.set(uid, { namespace, atMs: clock.monotonicMs() });
    const exceeded = state.overridden(kind) ? undefined : this.#exceeded();
    return exceeded === undefined ? undefined : this.#open(exceeded, { uid, namespace });
  }

  /** The deletion that was let pass did not happen. */
  takeBack(uid: string): void {
    this.#counted.delete(uid);
  }

  /** Which limit is exceeded, in words. */
  #exceeded(): string | undefined {
    const { limits, total } = this.#options;
    const { deletionsPerMinute, deletionsPercent, leastForPercent = LEAST_FOR_PERCENT } = limits;
    const count = this.#counted.size;
    if (deletionsPerMinute > 0 && count > deletionsPerMinute) return `${deletionsPerMinute}`;
    // Some of those counted are gone already, some are still there.
    const known = Math.max(total(), count);
    const tooMany = count >= leastForPercent && count > (known * deletionsPercent) / 100;
    return deletionsPercent > 0 && tooMany ? `${deletionsPercent} % of the` : undefined;
  }

  /** Gives why the deletion at hand has to wait; undefined where it is another namespace that is held. */
  #open(limit: string, { uid, namespace }: Deletion): string | undefined {
    const { kind, state } = this.#options;
    const held = mostlyFrom([...this.#counted.values()].map((each) => each.namespace));
    const because =
      `More than ${limit} objects of ${kind} were to be deleted within a minute` +
      (held === undefined ? '.' : `, most of them in the namespace ${held}, where deletions are held.`) +
      ` Nothing is lost; they wait. If it is meant: ingester resume ${kind}.`;
    state.open(held === undefined ? { kind } : { kind, namespace: held }, because);
    for (const [counted, each] of this.#counted)
      if (held === undefined || each.namespace === held) this.#counted.delete(counted);
    if (held !== undefined && held !== namespace) return undefined;
    this.#counted.delete(uid);
    return because;
  }

  #forgetOld(nowMs: number): void {
    for (const [uid, { atMs }] of this.#counted) {
      if (nowMs - atMs < WINDOW_MS) return;
      this.#counted.delete(uid);
    }
  }
}

/** Pure. The namespace that has more than half of them, where there is another one at all. */
export function mostlyFrom(namespaces: readonly string[]): string | undefined {
  const counts = [...Map.groupBy(namespaces, (each) => each)].map(([name, group]) => [name, group.length] as const);
  return counts.find(([, count]) => count * 2 > namespaces.length)?.[0];
}
