import { RowRefusedError } from '../errors.ts';
import type { SqlSession } from './pool.ts';

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
