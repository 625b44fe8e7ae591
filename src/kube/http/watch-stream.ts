import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WatchEvent } from '../client.ts';
import { KubeError } from '../errors.ts';
import { parseEvent } from './events.ts';
import { LineSplitter } from './lines.ts';
import { unavailable } from './transport.ts';

/** Longest stretch of reading events, and of dealing with them, before others get a turn. */
const SLICE_MS = 20;

/**
 * The events of a watch, which is opened when the first ones are asked for; those that arrive together are handed out
 * together. Throws where the stream breaks, or ends in the middle of a line, and at what is no event, once everything
 * before that was handed out. The socket gives megabytes in one turn of the event loop; here they get several.
 */
export async function* watchStream(
  open: () => Promise<AsyncIterable<unknown>>,
): AsyncGenerator<readonly WatchEvent[], void> {
  const body = await open();
  const splitter = new LineSplitter();
  let busyMs = 0;
  try {
    for await (const chunk of body) {
      const startedMs = performance.now();
      const { events, error } = parseEvents(splitter.push(chunk as Buffer));
      yield events;
      if (error !== undefined) throw error;
      busyMs += performance.now() - startedMs;
      if (busyMs < SLICE_MS) continue;
      await nextTurn();
      busyMs = 0;
    }
  } catch (error) {
    throw broken(error);
  }
  if (splitter.hasPartialLine) throw unavailable('the watch ended in the middle of an event', undefined);
}

interface Arrival {
  readonly events: readonly WatchEvent[];
  /** Why there are no more. */
  readonly error?: KubeError;
}

function parseEvents(lines: readonly Buffer[]): Arrival {
  const events: WatchEvent[] = [];
  try {
    for (const line of lines) events.push(parseEvent(line));
    return { events };
  } catch (error) {
    return { events, error: broken(error) };
  }
}

function broken(error: unknown): KubeError {
  return error instanceof KubeError ? error : unavailable('the watch broke', error);
}
