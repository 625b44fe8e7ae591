// A long answer, written as it comes and never held as a whole.
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** What is written at once; a reader is as slow as the time it takes for one. */
export const PIECE: number = 64 * 1024;

/** Writes text in pieces and waits where the reader is slower. Rejects once the signal is aborted. */
export class JsonStream {
  readonly #out: Writable;
  readonly #signal: AbortSignal;
  #pending = '';

  constructor(out: Writable, signal: AbortSignal) {
    this.#out = out;
    this.#signal = signal;
  }

  async write(text: string): Promise<void> {
    this.#pending += text;
    if (this.#pending.length >= PIECE) await this.#flush();
  }

  async end(): Promise<void> {
    await this.#flush();
    this.#out.end();
  }

  async #flush(): Promise<void> {
    const piece = this.#pending;
    this.#pending = '';
    if (piece === '' || this.#out.write(piece)) return;
    await once(this.#out, 'drain', { signal: this.#signal });
  }
}
