// The writer gate: one row that every write transaction reads under a shared lock and keeps until it commits. Whoever
// closes the gate updates the row, so the update waits for the transactions under way and holds back later ones.
import { GateClosedError, GateHeldError, StorageSchemaMissingError } from '../errors.ts';
import type { SqlSession } from './pool.ts';

/** Both servers know this form of the shared lock, and it needs no right beyond SELECT. */
const SHARED = 'SELECT `closed_by` FROM `ingester_gate` WHERE `id` = 1 LOCK IN SHARE MODE';
const EXCLUSIVE = 'SELECT `closed_by` FROM `ingester_gate` WHERE `id` = 1 FOR UPDATE';
const MOVE = 'UPDATE `ingester_gate` SET `closed_by` = ?, `reason` = ?, `changed_at` = UTC_TIMESTAMP(6) WHERE `id` = 1';

/** To be called first in every write transaction. */
export async function passGate(session: SqlSession): Promise<void> {
  const holder = await holderOf(session, SHARED);
  if (holder !== null) throw new GateClosedError(holder);
}

export async function closeGate(session: SqlSession, holder: string, reason: string): Promise<void> {
  await refuseOthers(session, holder);
  await session.execute(MOVE, [holder, reason.slice(0, 1024)]);
}

export async function openGate(session: SqlSession, holder: string): Promise<void> {
  await refuseOthers(session, holder);
  await session.execute(MOVE, [null, null]);
}

async function refuseOthers(session: SqlSession, holder: string): Promise<void> {
  const current = await holderOf(session, EXCLUSIVE);
  if (current !== null && current !== holder) throw new GateHeldError(current);
}

async function holderOf(session: SqlSession, sql: string): Promise<string | null> {
  const [row] = await session.query(sql);
  if (row === undefined) throw new StorageSchemaMissingError('the row of ingester_gate is missing');
  return row[0] as string | null;
}
