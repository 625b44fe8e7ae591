import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isJsonObject, valueAt } from '../../base/json.ts';
import type { WatchEvent } from '../client.ts';
import { KubeError, reasonOfStatus } from '../errors.ts';
import { splitEvent } from './json-scan.ts';
import { readReceived, readWhole } from './received-object.ts';
import { unavailable } from './transport.ts';

/** Longest stretch of reading events, and of dealing with them, before the stream yields to the event loop. */
const SLICE_MS = 20;

/**
 * The events of a watch, which is opened when the first ones are asked for; those that arrive together are handed out
 * together, and none at first: the API server took the watch. Throws where the stream breaks, or ends in the middle of a line, and at what is no event, once everything
 * before that was handed out. The socket gives megabytes in one tick of the event loop; here they are read in several.
 */
export async function* watchStream(
  open: () => Promise<AsyncIterable<unknown>>,
): AsyncGenerator<readonly WatchEvent[], void> {
  const body = await open();
  yield [];
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
      await yieldToEventLoop();
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

/** One line of a watch. Throws KubeError for an ERROR event and for a line that is no event. */
export function parseEvent(line: Buffer): WatchEvent {
  const parts = splitEvent(line);
  if (parts === undefined) throw new KubeError('Unavailable', 'The watch sent something that is not an event');
  const { type, object } = parts;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readReceived(object) };
    case 'BOOKMARK':
      return { type, resourceVersion: String(valueAt(readWhole(object), ['metadata', 'resourceVersion'])) };
    default:
      throw errorEvent(readWhole(object));
  }
}

/** An ERROR event carries a Status; 410 means the watch cannot go on from where it was. */
function errorEvent(status: unknown): KubeError {
  const code = valueAt(status, ['code']);
  const message = valueAt(status, ['message']);
  const reason = reasonOfStatus(typeof code === 'number' ? code : 500) ?? 'Unavailable';
  const text =
    isJsonObject(status) && typeof message === 'string' ? message.slice(0, 500) : 'the watch reported an error';
  return new KubeError(reason, `watch: ${text}`);
}

const NEWLINE = 0x0a;

/** A line above this is not an object of any API server; it bounds memory against a broken peer. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Splits chunks into complete lines, as received. What follows the last newline stays until the next chunk. */
export class LineSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** The lines completed by this chunk. */
  push(chunk: Buffer): readonly Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.#complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Whether the stream ended in the middle of a line. */
  get hasPartialLine(): boolean {
    return this.#pendingBytes > 0;
  }

  #complete(tail: Buffer): Buffer {
    if (this.#pendingBytes === 0) return tail;
    const line = Buffer.concat([...this.#pending, tail]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) {
      throw new KubeError('Unavailable', `A watch event is longer than ${MAX_LINE_BYTES} bytes`);
    }
  }
}
