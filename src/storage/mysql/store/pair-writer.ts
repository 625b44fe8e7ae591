// Labels and annotations of new objects are added as they are. Those of others are written as differences: read in one
// query for the whole batch, then only what changed is removed or put. The main rows are locked by then, so no other
// writer touches these pairs.
import { chunks, statementBytes } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';
import { readPairRows } from '../read/pairs.ts';
import type { ObjectPairs, Statement } from '../schema/pair-inserts.ts';
import type { PairStatements } from '../schema/statements.ts';

/** At most, on the wire. */
const BYTES_PER_CHARACTER = 3;

/** The pairs that an object shall have, and no other. */
export type PairChange = Omit<ObjectPairs, 'text'>;

const REMOVE_ROWS = 64;
const ER_DUP_ENTRY = 1062;

/** Pairs of new objects, of which none is there. */
export async function addPairs(
  session: SqlSession,
  statements: PairStatements,
  added: readonly ObjectPairs[],
): Promise<void> {
  try {
    await executeAll(session, statements.add(session, added));
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    // Some are: a main row was removed by hand without them. Or two keys are one to the server: it ignores spaces at
    // the end.
    await writePairs(session, statements, added);
  }
}

/** The uids whose pairs had to be changed. */
export async function writePairs(
  session: SqlSession,
  statements: PairStatements,
  changes: readonly PairChange[],
): Promise<ReadonlySet<string>> {
  const stored = await readStored(session, statements, changes);
  const put: PairChange[] = [];
  const removed: (readonly [uid: string, key: string])[] = [];
  for (const change of changes) {
    const before = stored.get(change.uid);
    const pairs =
      before === undefined ? change.pairs : change.pairs.filter(([key, value]) => before.get(key) !== value);
    if (pairs.length > 0) put.push({ ...change, pairs });
    for (const [key] of change.pairs) before?.delete(key);
    for (const key of before?.keys() ?? []) removed.push([change.uid, key]);
  }
  await remove(session, statements, removed);
  await executeAll(session, statements.put(session, put));
  return new Set([...put.map(({ uid }) => uid), ...removed.map(([uid]) => uid)]);
}

async function remove(
  session: SqlSession,
  statements: PairStatements,
  removed: readonly (readonly [uid: string, key: string])[],
): Promise<void> {
  const limits = {
    bytesOf: ([uid, key]: readonly [string, string]) => uid.length + key.length * BYTES_PER_CHARACTER,
    maxBytes: statementBytes(session),
    maxRows: REMOVE_ROWS,
  };
  for (const chunk of chunks(removed, limits)) await session.execute(statements.remove(chunk.length), chunk.flat());
}

async function executeAll(session: SqlSession, statements: Iterable<Statement>): Promise<void> {
  for (const { sql, parameters } of statements) await session.execute(sql, parameters);
}

/** Only the statement is undone; the transaction goes on. */
function isDuplicate(error: unknown): boolean {
  return (error as { readonly errno?: number }).errno === ER_DUP_ENTRY;
}

async function readStored(
  session: SqlSession,
  statements: PairStatements,
  changes: readonly PairChange[],
): Promise<ReadonlyMap<string, Map<string, string>>> {
  const uids = changes.map(({ uid }) => uid);
  const stored = new Map<string, Map<string, string>>();
  for (const [uid, key, value] of await readPairRows(session, statements.table, uids)) {
    const pairs = stored.get(String(uid)) ?? new Map<string, string>();
    stored.set(String(uid), pairs.set(String(key), String(value)));
  }
  return stored;
}
