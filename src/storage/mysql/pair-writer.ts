// Labels and annotations are written as differences: read in one query for the whole batch, then only what changed is
// removed or put. The main rows are locked by then, so nobody else touches these pairs.
import { chunks, padded, statementSizes } from './chunks.ts';
import { refuseTooLarge, statementBytes } from './packet.ts';
import type { SqlSession } from './pool.ts';
import type { PairStatements } from './statements.ts';

export interface PairChange {
  readonly uid: string;
  /** What there shall be, and nothing else. */
  readonly pairs: readonly (readonly [key: string, value: string])[];
  /** What the table has in each row beyond the pair: the creation time of the object for labels, nothing for annotations. */
  readonly extra: readonly string[];
  /** `true`: the object is new, so nothing has to be read. */
  readonly known: boolean;
}

type Pair = readonly [uid: string, key: string, value: string, ...extra: string[]];

const PUT_ROWS = 256;
const REMOVE_ROWS = 64;

/** The uids whose pairs had to be changed. */
export async function writePairs(
  session: SqlSession,
  statements: PairStatements,
  changes: readonly PairChange[],
): Promise<ReadonlySet<string>> {
  const stored = await readStored(session, statements, changes);
  const put: Pair[] = [];
  const removed: Pair[] = [];
  for (const { uid, pairs, extra } of changes) {
    const before = stored.get(uid);
    for (const [key, value] of pairs) {
      if (before?.get(key) !== value) put.push([uid, key, value, ...extra]);
      before?.delete(key);
    }
    for (const [key] of before ?? []) removed.push([uid, key, '']);
  }
  const limits = { bytesOf: bytesOfPair, maxBytes: statementBytes(session) };
  for (const chunk of chunks(removed, { ...limits, maxRows: REMOVE_ROWS })) {
    await session.execute(
      statements.remove(chunk.length),
      chunk.flatMap(([uid, key]) => [uid, key]),
    );
  }
  for (const chunk of chunks(put, { ...limits, maxRows: PUT_ROWS })) {
    refuseTooLarge(session, bytesOfPair(chunk[0] ?? ['', '', '']));
    await session.execute(statements.put(chunk.length), chunk.flat());
  }
  return new Set([...put, ...removed].map(([uid]) => uid));
}

async function readStored(
  session: SqlSession,
  statements: PairStatements,
  changes: readonly PairChange[],
): Promise<ReadonlyMap<string, Map<string, string>>> {
  const uids = changes.filter(({ known }) => !known).map(({ uid }) => uid);
  const stored = new Map<string, Map<string, string>>();
  for (const chunk of chunks(uids, { bytesOf: () => 1, maxBytes: Infinity, maxRows: statementSizes[0] })) {
    const parameters = padded(chunk);
    for (const [uid, key, value] of await session.query(statements.select(parameters.length), parameters)) {
      const pairs = stored.get(String(uid)) ?? new Map<string, string>();
      stored.set(String(uid), pairs.set(String(key), String(value)));
    }
  }
  return stored;
}

function bytesOfPair([uid, key, value]: Pair): number {
  return uid.length + (key.length + value.length) * 3;
}
