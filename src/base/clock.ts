/** Time as a dependency, so that tests turn it by hand. */
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
