import type { WatchEvent } from '../client.ts';
import { KubeError } from '../errors.ts';
import { parseEvent } from './events.ts';
import { LineSplitter } from './lines.ts';
import { unavailable } from './transport.ts';

/**
 * The events of a watch, one at a time. Many arrive at once, and those are handed out without waiting: as an async
 * generator, every event would cost some promises and turns of the queue of microtasks more.
 */
export class WatchStream implements AsyncIterableIterator<WatchEvent> {
  readonly #arrivals: AsyncGenerator<readonly Buffer[], void>;
  #lines: readonly Buffer[] = [];
  #next = 0;

  /** Opens the watch when the first event is asked for. */
  constructor(open: () => Promise<AsyncIterable<unknown>>) {
    this.#arrivals = linesOf(open);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<WatchEvent>> {
    const line = this.#lines[this.#next];
    if (line === undefined) return this.#arrive();
    this.#next += 1;
    try {
      return Promise.resolve({ done: false, value: parseEvent(line) });
    } catch (error) {
      return this.#fail(error);
    }
  }

  async return(): Promise<IteratorResult<WatchEvent>> {
    this.#lines = [];
    await this.#arrivals.return();
    return { done: true, value: undefined };
  }

  async #arrive(): Promise<IteratorResult<WatchEvent>> {
    const arrival = await this.#arrivals.next();
    if (arrival.done === true) return { done: true, value: undefined };
    this.#lines = arrival.value;
    this.#next = 0;
    return this.next();
  }

  async #fail(error: unknown): Promise<never> {
    await this.return();
    throw broken(error);
  }
}

/** The complete lines of each chunk; throws where the stream breaks, or ends in the middle of a line. */
async function* linesOf(open: () => Promise<AsyncIterable<unknown>>): AsyncGenerator<readonly Buffer[], void> {
  const body = await open();
  const splitter = new LineSplitter();
  try {
    for await (const chunk of body) yield splitter.push(chunk as Buffer);
  } catch (error) {
    throw broken(error);
  }
  if (splitter.hasPartialLine) throw unavailable('the watch ended in the middle of an event', undefined);
}

function broken(error: unknown): KubeError {
  return error instanceof KubeError ? error : unavailable('the watch broke', error);
}
