import type { IncomingMessage } from 'node:http';
import { QueryError } from './errors.ts';

/** A search is a few lines; nothing here takes a whole object. */
const MOST_BYTES = 64 * 1024;

/** The JSON of a request's body; undefined where there is none. Throws what the caller did wrong. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
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
  if (size === 0) return undefined;
  const type = (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new QueryError('UnsupportedMediaType', 'the body must be application/json');
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown;
  } catch {
    throw new QueryError('BadRequest', 'the body is not valid JSON');
  }
}
