// Work that goes on as long as the process does.
import { isAborted } from './abort.ts';
import { type Clock, sleep } from './clock.ts';

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
