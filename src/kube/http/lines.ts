import { KubeError } from '../errors.ts';

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
