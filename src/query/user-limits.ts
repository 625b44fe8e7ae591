// How often one user may ask: a bucket of requests for each, which fills again with time. Nobody's script may keep the
// others from their answers.
import type { Clock } from '../base/clock.ts';

export interface UserLimitOptions {
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

/** Beyond it the user who asked longest ago is forgotten, who has a full bucket by then or is one of very many. */
const MOST_USERS = 10_000;

export class UserLimits {
  readonly #options: UserLimitOptions;
  /** The user who asked last comes last. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: UserLimitOptions) {
    this.#options = options;
  }

  /** Seconds to wait where the user has asked too often; undefined where the request may go on. */
  take(user: string): number | undefined {
    const { clock, perSecond, burst } = this.#options;
    if (perSecond === 0) return undefined;
    const now = clock.monotonicMs();
    const found = this.#buckets.get(user) ?? { left: burst, atMs: now };
    const filled = Math.min(burst, found.left + ((now - found.atMs) / 1000) * perSecond);
    this.#buckets.delete(user);
    this.#buckets.set(user, { left: filled < 1 ? filled : filled - 1, atMs: now });
    const [longestAgo] = this.#buckets.keys();
    if (this.#buckets.size > MOST_USERS && longestAgo !== undefined) this.#buckets.delete(longestAgo);
    return filled < 1 ? Math.ceil((1 - filled) / perSecond) : undefined;
  }
}
