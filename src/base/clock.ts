// Time as a dependency, and the ways to wait: for a while, again and again, until something holds, not longer than.
import { isAborted, onAbort } from './abort.ts';

/** So that tests turn time by hand. */
export interface Clock {
  now(): Date;
  /** Milliseconds since an arbitrary start; never goes back, unlike `now`. */
  monotonicMs(): number;
  /** Runs `action` once after the delay; the returned function cancels it. */
  schedule(delayMs: number, action: () => void): () => void;
}

/** A timer above this fires at once, because Node keeps delays in 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  schedule: (delayMs, action) => {
    const timer = setTimeout(action, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay, or early when the signal is aborted. Never rejects. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.schedule(delayMs, done);
    signal.addEventListener('abort', done);
  });
}

export interface Rhythm {
  readonly clock: Clock;
  /** From the end of one run to the begin of the next. */
  readonly periodMs: number;
  readonly signal: AbortSignal;
}

/** Runs the work again and again until the signal is aborted. Rejects where the work does, and ends with that. */
export async function repeat(
  { clock, periodMs, signal }: Rhythm,
  work: () => Promise<unknown> | undefined,
): Promise<void> {
  while (!isAborted(signal)) {
    await work();
    await sleep(clock, periodMs, signal);
  }
}

/** Resolves when the condition holds, or when the signal is aborted. */
export async function waitUntil({ clock, periodMs, signal }: Rhythm, condition: () => boolean): Promise<void> {
  while (!isAborted(signal) && !condition()) await sleep(clock, periodMs, signal);
}

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
