import type { IncomingMessage } from 'node:http';
import { onAbort } from '../base/abort.ts';
import { QueryError } from './errors.ts';

/** A search is a few lines; nothing here takes a whole object. */
const MOST_BYTES = 64 * 1024;
/** For the whole body; a little less than its connection has, so that its client is told why. */
const BODY_MS = 8000;

/** The JSON of a request's body; undefined where there is none. Throws what the caller did wrong. */
export async function readJsonBody(request: IncomingMessage, timeoutMs: number = BODY_MS): Promise<unknown> {
  const bytes = await within(timeoutMs, collect(request));
  if (bytes.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new QueryError('UnsupportedMediaType', 'the body must be application/json');
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new QueryError('BadRequest', 'the body is not valid JSON');
  }
}

async function collect(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  // Whoever sends too much is told so, over the same connection.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_BYTES) {
      throw new QueryError('RequestEntityTooLarge', `the body has more than ${MOST_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function within(timeoutMs: number, body: Promise<Buffer>): Promise<Buffer> {
  const over = Promise.withResolvers<never>();
  const forget = onAbort(AbortSignal.timeout(timeoutMs), () => {
    over.reject(new QueryError('Timeout', `the body did not arrive within ${Math.round(timeoutMs / 1000)} s`));
  });
  // It may fail long after anybody listens.
  body.catch(() => undefined);
  try {
    return await Promise.race([body, over.promise]);
  } finally {
    forget();
  }
}
