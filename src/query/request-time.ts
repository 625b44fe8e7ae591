// How long a request may take: until its answer begins, and until it ends. A reader that has gone ends it too.
import type { ServerResponse } from 'node:http';
import { onAbort } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { QueryError } from './errors.ts';

export interface TimeLimits {
  /** Milliseconds until the first byte. */
  readonly firstMs: number;
  /** Milliseconds until the last. */
  readonly wholeMs: number;
}

export class RequestTime {
  readonly #stop = new AbortController();
  readonly #cancelFirst: () => void;
  readonly #cancelWhole: () => void;

  constructor(clock: Clock, { firstMs, wholeMs }: TimeLimits, response: ServerResponse) {
    const over = (what: string, limitMs: number) => (): void => {
      const message = `${what} took longer than ${Math.round(limitMs / 1000)} s: ask for less, or for pages with limit`;
      this.#stop.abort(new QueryError('Timeout', message, { retryAfterSeconds: 1 }));
    };
    this.#cancelFirst = clock.schedule(firstMs, over('the answer', firstMs));
    const endWhole = over('the whole answer', wholeMs);
    this.#cancelWhole = clock.schedule(wholeMs, () => {
      endWhole();
      // What has been written already can only be broken off.
      if (response.headersSent) response.destroy();
    });
    response.once('close', () => {
      this.begun();
      this.#cancelWhole();
      this.#stop.abort(new DOMException('the client went away', 'AbortError'));
    });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The first byte is on its way. */
  begun(): void {
    this.#cancelFirst();
  }

  /** The answer is a watch, which has an end of its own. */
  lasting(): void {
    this.begun();
    this.#cancelWhole();
  }

  /** The result of the work, or the error that says that the time is over. */
  async within<T>(work: Promise<T>): Promise<T> {
    const over = Promise.withResolvers<never>();
    const forget = onAbort(this.signal, () => over.reject(this.signal.reason as Error));
    try {
      return await Promise.race([work, over.promise]);
    } finally {
      forget();
    }
  }
}
