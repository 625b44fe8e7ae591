import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { PIECE } from './json-stream.ts';
import type { RequestTime } from './request-time.ts';
import type { User } from './user.ts';

/** One request on its way to its answer. */
export interface Context {
  readonly request: Request;
  readonly response: Response;
  readonly user: User;
  readonly time: RequestTime;
  readonly query: URLSearchParams;
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
