// Rate limits by client: each has a token bucket that fills again with time, so that one client's script cannot starve
// the others.
import type { Clock } from './clock.ts';
import { type RateLimit, TokenBucket } from './token-bucket.ts';

/** Beyond it the one that asked longest ago is forgotten: it has a full bucket by then, or is one of very many. */
const MOST_BUCKETS = 10_000;

export class RateLimits {
  readonly #limit: RateLimit & { readonly clock: Clock };
  /** The one that asked last comes last. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(limit: RateLimit & { readonly clock: Clock }) {
    this.#limit = limit;
  }

  /** Seconds to wait for one that has asked too often; undefined where the request may go on. */
  take(who: string): number | undefined {
    return this.#bucket(who).take();
  }

  /** What was taken shall not count. */
  giveBack(who: string): void {
    this.#bucket(who).giveBack();
  }

  #bucket(who: string): TokenBucket {
    const bucket = this.#buckets.get(who) ?? new TokenBucket(this.#limit, this.#limit.clock);
    this.#buckets.delete(who);
    this.#buckets.set(who, bucket);
    const [longestAgo] = this.#buckets.keys();
    if (this.#buckets.size > MOST_BUCKETS && longestAgo !== undefined) this.#buckets.delete(longestAgo);
    return bucket;
  }
}

// Limits log lines that clients cause: an unauthenticated client decides how many refusals there are, and a full disk
// of the node stops more than this program.

/** Lines of one reason at once, after a rest. */
const BURST = 20;
/** Then so many a second. */
const PER_SECOND = 0.1;
/** Reasons that are tracked. */
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
