// Labels and annotations are written as differences: read in one query for the whole batch, then only what changed is
// removed or put. The main rows are locked by then, so nobody else touches these pairs.
import { chunks, padded, statementSizes } from './chunks.ts';
import { refuseTooLarge, statementBytes } from './packet.ts';
import type { SqlSession } from './pool.ts';
import type { PairStatements } from './statements.ts';

type Pair = readonly [key: string, value: string];

export interface PairChange {
  readonly uid: string;
  /** What there shall be, and nothing else. */
  readonly pairs: readonly Pair[];
  /** What the table has in each row beyond the pair: the creation time of the object for labels, nothing for annotations. */
  readonly extra: readonly string[];
  /** `true`: the object is new, so nothing has to be read. */
  readonly known: boolean;
}

interface PairOfObject {
  readonly change: PairChange;
  readonly pair: Pair;
}

const PUT_ROWS = 256;
const REMOVE_ROWS = 64;

/** The uids whose pairs had to be changed. */
export async function writePairs(
  session: SqlSession,
  statements: PairStatements,
  changes: readonly PairChange[],
): Promise<ReadonlySet<string>> {
  const stored = await readStored(session, statements, changes);
  const put: PairOfObject[] = [];
  const removed: PairOfObject[] = [];
  for (const change of changes) {
    const before = stored.get(change.uid);
    for (const pair of change.pairs) {
      if (before?.get(pair[0]) !== pair[1]) put.push({ change, pair });
      before?.delete(pair[0]);
    }
    for (const key of before?.keys() ?? []) removed.push({ change, pair: [key, ''] });
  }
  const limits = { bytesOf: bytesOfPair, maxBytes: statementBytes(session) };
  for (const chunk of chunks(removed, { ...limits, maxRows: REMOVE_ROWS })) {
    await session.execute(
      statements.remove(chunk.length),
      chunk.flatMap(({ change, pair }) => [change.uid, pair[0]]),
    );
  }
  for (const chunk of chunks(put, { ...limits, maxRows: PUT_ROWS })) {
    refuseTooLarge(session, bytesOfPair(chunk[0]));
    await session.execute(statements.put(chunk.length), parametersOf(chunk));
  }
  return new Set([...put, ...removed].map(({ change }) => change.uid));
}

/** An object has a dozen pairs: nothing is made for each but its parameters. */
function parametersOf(pairs: readonly PairOfObject[]): readonly string[] {
  const parameters: string[] = [];
  for (const { change, pair } of pairs) {
    parameters.push(change.uid, pair[0], pair[1]);
    for (const value of change.extra) parameters.push(value);
  }
  return parameters;
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

function bytesOfPair(item: PairOfObject | undefined): number {
  return item === undefined ? 0 : item.change.uid.length + (item.pair[0].length + item.pair[1].length) * 3;
}
