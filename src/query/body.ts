import type { IncomingMessage } from 'node:http';
import { systemClock } from '../base/clock.ts';
import { within } from '../base/within.ts';
import { QueryError } from './errors.ts';

/** A search is a few lines; nothing here takes a whole object. */
const MOST_BYTES = 64 * 1024;
/** For the whole body; a little less than its connection has, so that its client gets the reason. */
const BODY_MS = 8000;

/** The JSON of a request's body; undefined where there is none. Throws QueryError for a wrong body. */
export async function readJsonBody(request: IncomingMessage, mediaType = 'application/json'): Promise<unknown> {
  const limit = { clock: systemClock, timeoutMs: BODY_MS };
  const bytes = await within(
    limit,
    () => collect(request),
    () => {
      throw new QueryError('Timeout', `the body did not arrive within ${BODY_MS / 1000} s`);
    },
  );
  if (bytes.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? mediaType).split(';')[0]?.trim().toLowerCase();
  if (type !== mediaType) throw new QueryError('UnsupportedMediaType', `the body must be ${mediaType}`);
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new QueryError('BadRequest', 'the body is not valid JSON');
  }
}

async function collect(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  // A client that sends too much gets that answer over the same connection.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_BYTES) {
      throw new QueryError('RequestEntityTooLarge', `the body has more than ${MOST_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
