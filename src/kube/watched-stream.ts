import { onAbort } from '../base/abort.ts';
import type { WatchedWork } from '../base/watchdog.ts';
import type { WatchEvent } from './client.ts';

/** A watch that the watchdog breaks off where nothing arrives. */
export interface WatchedStream {
  readonly events: AsyncIterable<readonly WatchEvent[]>;
  /** What it is from now on, and how long it may be silent. */
  expect(what: 'list' | 'watch', limitMs: number): void;
  arrived(): void;
  /** To be called however it ended. */
  end(): void;
}

interface Supervision {
  readonly signal: AbortSignal;
  readonly register: (what: 'list' | 'watch', limitMs: number, breakOff: () => void) => WatchedWork;
}

/** For work that no watchdog knows. */
export const unwatched: WatchedWork = { progress: () => undefined, done: () => undefined };

export function watchedStream(
  open: (signal: AbortSignal) => AsyncIterable<readonly WatchEvent[]>,
  { signal, register }: Supervision,
): WatchedStream {
  const stop = new AbortController();
  const release = onAbort(signal, () => stop.abort());
  let work = unwatched;
  return {
    events: open(stop.signal),
    expect: (what, limitMs) => {
      work.done();
      work = register(what, limitMs, () => stop.abort());
    },
    arrived: () => work.progress(),
    end: () => {
      work.done();
      release();
    },
  };
}
