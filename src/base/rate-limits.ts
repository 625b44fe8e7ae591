// How often one of many may ask: a bucket of requests for each, which fills again with time. Nobody's script may keep the
// others from their answers.
import type { Clock } from './clock.ts';

export interface RateLimit {
  readonly clock: Clock;
  /** 0: no limit. */
  readonly perSecond: number;
  /** Requests at once after a rest. */
  readonly burst: number;
}

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

/** Beyond it the one that asked longest ago is forgotten: it has a full bucket by then, or is one of very many. */
const MOST_BUCKETS = 10_000;

export class RateLimits {
  readonly #limit: RateLimit;
  /** The one that asked last comes last. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** Seconds to wait for one that has asked too often; undefined where the request may go on. */
  take(who: string): number | undefined {
    const { perSecond } = this.#limit;
    if (perSecond === 0) return undefined;
    const left = this.#left(who);
    this.#set(who, left < 1 ? left : left - 1);
    return left < 1 ? (1 - left) / perSecond : undefined;
  }

  /** What was taken shall not count. */
  giveBack(who: string): void {
    this.#set(who, Math.min(this.#limit.burst, this.#left(who) + 1));
  }

  #left(who: string): number {
    const { clock, perSecond, burst } = this.#limit;
    const found = this.#buckets.get(who);
    if (found === undefined) return burst;
    return Math.min(burst, found.left + ((clock.monotonicMs() - found.atMs) / 1000) * perSecond);
  }

  #set(who: string, left: number): void {
    this.#buckets.delete(who);
    this.#buckets.set(who, { left, atMs: this.#limit.clock.monotonicMs() });
    const [longestAgo] = this.#buckets.keys();
    if (this.#buckets.size > MOST_BUCKETS && longestAgo !== undefined) this.#buckets.delete(longestAgo);
  }
}
