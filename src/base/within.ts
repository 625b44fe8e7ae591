import { onAbort } from './abort.ts';
import type { Clock } from './clock.ts';

export interface Limit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

/**
 * The result of the work, or what `late` gives or throws once the time is over or the signal is aborted. The work gets a
 * signal that is aborted then, for what `late` throws. What the work brings later is dropped, a failure too.
 */
export async function within<T, U>(
  { clock, timeoutMs, signal }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => U,
): Promise<T | U> {
  const stop = new AbortController();
  const over = Promise.withResolvers<U>();
  const end = (): void => {
    try {
      over.resolve(late());
      stop.abort();
    } catch (error) {
      over.reject(error);
      stop.abort(error);
    }
  };
  const cancelTimer = clock.schedule(timeoutMs, end);
  const cancelAbort = signal === undefined ? undefined : onAbort(signal, end);
  try {
    return await Promise.race([work(stop.signal), over.promise]);
  } finally {
    cancelTimer();
    cancelAbort?.();
  }
}
