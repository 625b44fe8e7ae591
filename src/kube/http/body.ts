// The whole body of an answer, which must end: a server that sends a byte now and then would be waited for without end.
import type { Readable } from 'node:stream';
import { KubeError, PageTooLargeError } from '../errors.ts';

/** How slowly an answer may come. */
export interface Pace {
  /** Until it has to have come at this pace. */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** Of a poor line over a proxy; a page of the largest size has nine minutes. */
const SLOWEST: Pace = { graceMs: 30_000, bytesPerSecond: 16 * 1024 };

/** Leaving the loop closes the connection, which keeps the rest from coming. A silent server is the connection's to end. */
export async function readBody(
  body: Readable,
  { mostBytes = Number.POSITIVE_INFINITY, pace = SLOWEST }: { readonly mostBytes?: number; readonly pace?: Pace } = {},
): Promise<Buffer> {
  const started = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > mostBytes) throw new PageTooLargeError(mostBytes);
    const tookMs = performance.now() - started;
    if (tookMs > pace.graceMs + (bytes / pace.bytesPerSecond) * 1000) throw tooSlow(bytes, tookMs);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function tooSlow(bytes: number, tookMs: number): KubeError {
  return new KubeError('Unavailable', `only ${bytes} bytes of the answer came in ${Math.round(tookMs / 1000)} s`);
}
