export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
  /** By which the delay grows with each failure; 2 where it is not said. */
  readonly factor?: number;
  /** Share of the delay added at random, 0 to 1, so that many clients do not return together. */
  readonly jitter: number;
}

/** Delay before attempt `failures + 1`: base, then multiplied by the factor per failure up to the cap, plus jitter. */
export function backoffMs(options: BackoffOptions, failures: number, random: () => number = Math.random): number {
  const exponential = options.baseMs * (options.factor ?? 2) ** Math.min(failures, 52);
  const delay = Math.min(exponential, options.capMs);
  return delay * (1 + options.jitter * random());
}
