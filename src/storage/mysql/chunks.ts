import { RowRefusedError } from '../errors.ts';
import type { SqlSession } from './pool.ts';

/** Rows of a statement: few sizes, so that each text is prepared once per connection. */
export const statementSizes = [256, 128, 64, 16, 8, 4, 2, 1] as const;

export interface ByteLimits<T> {
  readonly bytesOf: (item: T) => number;
  /** Bytes of a statement with more than one item; a single item may be larger. */
  readonly maxBytes: number;
}

export interface ChunkLimits<T> extends ByteLimits<T> {
  readonly maxRows: number;
}

/** Cuts the items, in their order, into pieces of the statement sizes. */
export function chunks<T>(items: readonly T[], limits: ChunkLimits<T>): readonly (readonly T[])[] {
  return cut(items, limits, (fitting) => statementSizes.find((size) => size <= fitting) ?? 1);
}

/** Cuts the items, in their order, for statements that take any number. */
export function piecesOfBytes<T>(items: readonly T[], limits: ByteLimits<T>): readonly (readonly T[])[] {
  return cut(items, { ...limits, maxRows: Infinity }, (fitting) => fitting);
}

function cut<T>(
  items: readonly T[],
  limits: ChunkLimits<T>,
  sizeFor: (fitting: number) => number,
): readonly (readonly T[])[] {
  const pieces: (readonly T[])[] = [];
  let start = 0;
  while (start < items.length) {
    const length = sizeFor(Math.max(1, fittingFrom(items, start, limits)));
    pieces.push(items.slice(start, start + length));
    start += length;
  }
  return pieces;
}

function fittingFrom<T>(items: readonly T[], start: number, { bytesOf, maxBytes, maxRows }: ChunkLimits<T>): number {
  let bytes = 0;
  let fitting = 0;
  for (let index = start; index < items.length && fitting < maxRows; index += 1) {
    bytes += bytesOf(items[index] as T);
    if (bytes > maxBytes) break;
    fitting += 1;
  }
  return fitting;
}

/**
 * The items, with the last one repeated up to the next statement size, or the next multiple of the largest: for lists
 * where repeats change nothing.
 */
export function padded<T>(items: readonly T[]): readonly T[] {
  const last = items.at(-1);
  if (last === undefined) return items;
  const [largest] = statementSizes;
  const size =
    statementSizes.findLast((candidate) => candidate >= items.length) ?? Math.ceil(items.length / largest) * largest;
  return [...items, ...Array<T>(size - items.length).fill(last)];
}

/** Larger statements are not faster, and cost memory on both sides. */
const STATEMENT_BYTES = 2 * 1024 * 1024;
const PROTOCOL_BYTES = 16 * 1024;

/** Most bytes of a statement that holds several rows. */
export function statementBytes({ maxPacketBytes }: SqlSession): number {
  return Math.min(STATEMENT_BYTES, maxPacketBytes / 2);
}

/** A packet above the server's limit would cost the connection and look like an outage, again and again. */
export function refuseTooLarge({ maxPacketBytes }: SqlSession, bytes: number): void {
  if (bytes + PROTOCOL_BYTES <= maxPacketBytes) return;
  throw new RowRefusedError(`it has ${bytes} bytes and max_allowed_packet is ${maxPacketBytes}`);
}
