import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import type { Request, Response } from 'express';
import type { RequestTime } from './request-time.ts';

/** The user of a request, as the API server knows them. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** One request on its way to its answer. */
export interface Context {
  readonly request: Request;
  readonly response: Response;
  readonly user: User;
  readonly time: RequestTime;
  readonly query: URLSearchParams;
  /** Lets other requests have its place: what follows is a watch, which has limits of its own. */
  readonly leavePlace: () => void;
}

export function sendJson({ response, time }: Pick<Context, 'response' | 'time'>, document: object, status = 200): void {
  time.begun();
  response.status(status);
  sendText(response, `${JSON.stringify(document)}\n`, 'application/json');
}

/** In pieces, so that a slow reader can be distinguished from one that has stalled. */
export function sendText(response: Response, text: string, type: string): void {
  response.setHeader('Content-Type', type);
  const bytes = Buffer.from(text);
  response.setHeader('Content-Length', bytes.length);
  Readable.from(piecesOf(bytes), { objectMode: true, highWaterMark: 1 }).pipe(response);
}

function* piecesOf(bytes: Buffer): Generator<Buffer, void> {
  for (let start = 0; start < bytes.length; start += PIECE) yield bytes.subarray(start, start + PIECE);
}

// A long answer, written as it comes and never held as a whole.

/** What is written at once; a reader is as slow as the time it takes for one. */
const PIECE: number = 64 * 1024;

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
    if (this.#pending.length >= PIECE) await this.flush();
  }

  async end(): Promise<void> {
    await this.flush();
    this.#out.end();
  }

  async flush(): Promise<void> {
    const piece = this.#pending;
    this.#pending = '';
    if (piece === '' || this.#out.write(piece)) return;
    await once(this.#out, 'drain', { signal: this.#signal });
  }
}
