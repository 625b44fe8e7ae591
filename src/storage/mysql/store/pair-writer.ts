// Labels and annotations of new objects are added as they are. Those of others are written as differences: read in one
// query for the whole batch, then only what changed is removed or put. The main rows are locked by then, so no other
// writer touches these pairs.
import { chunks, padded, piecesOfBytes, refuseTooLarge, statementBytes, statementSizes } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';
import type { PairStatements } from '../schema/statements.ts';

type Pair = readonly [key: string, value: string];

/** At most, on the wire. */
const BYTES_PER_CHARACTER = 3;

export interface PairChange {
  readonly uid: string;
  /** What there shall be, and nothing else. */
  readonly pairs: readonly Pair[];
  /** What the table has in each row beyond the pair: the creation time of the object for labels, nothing for annotations. */
  readonly extra: readonly string[];
}

export interface NewPairs extends PairChange {
  /** JSON of the pairs. */
  readonly text: string;
}

const REMOVE_ROWS = 64;
const ER_DUP_ENTRY = 1062;

/** Pairs of new objects, of which none is there. */
export async function addPairs(
  session: SqlSession,
  statements: PairStatements,
  added: readonly NewPairs[],
): Promise<void> {
  try {
    for (const json of statementTexts(session, added)) await session.execute(statements.add, [json]);
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
  await putAll(session, statements, put);
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

async function putAll(session: SqlSession, statements: PairStatements, changes: readonly PairChange[]): Promise<void> {
  const put = changes.map(({ uid, pairs, extra }) => ({ uid, text: JSON.stringify(pairs), extra }));
  for (const json of statementTexts(session, put)) await session.execute(statements.put, [json]);
}

/** What the statements take, one by one: none is larger than the server accepts. */
function* statementTexts(session: SqlSession, objects: readonly Omit<NewPairs, 'pairs'>[]): Generator<string> {
  const texts = objects.map(({ uid, text, extra }) => {
    const rest = extra.map((value) => `,${JSON.stringify(value)}`).join('');
    return `[${JSON.stringify(uid)},${text}${rest}]`;
  });
  const limits = { bytesOf: (text: string) => Buffer.byteLength(text), maxBytes: statementBytes(session) };
  for (const piece of piecesOfBytes(texts, limits)) {
    refuseTooLarge(session, limits.bytesOf(piece[0] ?? ''));
    yield `[${piece.join(',')}]`;
  }
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
  for (const chunk of chunks(uids, { bytesOf: () => 1, maxBytes: Infinity, maxRows: statementSizes[0] })) {
    const parameters = padded(chunk);
    for (const [uid, key, value] of await session.query(statements.select(parameters.length), parameters)) {
      const pairs = stored.get(String(uid)) ?? new Map<string, string>();
      stored.set(String(uid), pairs.set(String(key), String(value)));
    }
  }
  return stored;
}
