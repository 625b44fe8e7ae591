// What clients bring about is logged, but not as often as they like: a client that nobody has let in decides how many
// refusals there are, and a full disk of the node ends more than this program.
import type { Clock } from './clock.ts';
import { RateLimits } from './rate-limits.ts';

/** Lines of one reason at once, after a rest. */
const BURST = 20;
/** Then so many a second. */
const PER_SECOND = 0.1;
/** As many reasons as the limits remember. */
const MOST_REASONS = 10_000;

export class LogLimit {
  readonly #rates: RateLimits;
  readonly #leftOut = new Map<string, number>();

  constructor(clock: Clock) {
    this.#rates = new RateLimits({ clock, perSecond: PER_SECOND, burst: BURST });
  }

  /** Fields for the line of this reason: how many before it were left out. Undefined where it is one of them. */
  take(reason: string): { readonly leftOut?: number } | undefined {
    const leftOut = this.#leftOut.get(reason);
    if (this.#rates.take(reason) === undefined) {
      this.#leftOut.delete(reason);
      return leftOut === undefined ? {} : { leftOut };
    }
    if (leftOut === undefined && this.#leftOut.size >= MOST_REASONS) this.#leftOut.clear();
    this.#leftOut.set(reason, (leftOut ?? 0) + 1);
    return undefined;
  }
}
