import { onAbort } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';

/**
 * For an answer to a validating rule, connecting included: inside the 4.5 seconds that the shipped registration leaves,
 * so that the rule can still say what it does without one.
 */
export const ANSWER_MS = 3500;

export interface Limit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the wait early. */
  readonly signal: AbortSignal;
}

/**
 * The result of the work, or `otherwise` once the time is over or the signal is aborted. The work gets a signal that
 * tells it so. Rejects only where the work itself does, in time.
 */
export async function within<T, U>(
  { clock, timeoutMs, signal }: Limit,
  otherwise: U,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | U> {
  const stop = new AbortController();
  const over = Promise.withResolvers<U>();
  const end = (): void => {
    stop.abort();
    over.resolve(otherwise);
  };
  const cancelTimer = clock.schedule(timeoutMs, end);
  const cancelAbort = onAbort(signal, end);
  try {
    const result = work(stop.signal);
    // It may fail long after anybody listens.
    result.catch(() => undefined);
    return await Promise.race([result, over.promise]);
  } finally {
    cancelTimer();
    cancelAbort();
  }
}
