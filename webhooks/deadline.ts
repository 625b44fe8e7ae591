// The API server says in the query how long it waits. An answer that says "failed" in time is better than none: the
// API server then knows at once, applies the failurePolicy, and shows our reason.
import type { Clock } from '../src/base/clock.ts';
import { parseDurationMs } from '../src/base/duration.ts';
import { CodedError } from '../src/base/errors.ts';
import { within } from '../src/base/within.ts';

/** What the API server waits where the registration says nothing, and at most. */
const DEFAULT_MS = 10_000;
const MAX_MS = 30_000;
/** Share of the time that is ours; the rest is for the way back. */
const SHARE = 0.9;

export class DeadlineError extends CodedError {
  readonly status = 504;

  constructor(timeoutMs: number) {
    super('REVIEW_TIMEOUT', `no answer within ${timeoutMs} ms, which is what the API server left for it`, {
      retry: 'yes',
    });
  }
}

/** Milliseconds for an answer, from the `?timeout=5s` of the request. */
export function timeoutOf(url: string): number {
  const text = new URLSearchParams(url.split('?')[1]).get('timeout') ?? '';
  const asked = parseDurationMs(text) ?? DEFAULT_MS;
  return Math.min(asked === 0 ? DEFAULT_MS : asked, MAX_MS) * SHARE;
}

/** Rejects with a DeadlineError once the time is over. */
export function withinTime<T>(clock: Clock, timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within({ clock, timeoutMs }, work, () => {
    throw new DeadlineError(timeoutMs);
  });
}
