// Writes the objects of one batch inside one transaction and knows the outcome of each.
//
// How the outcomes are known. First the rows that exist are locked and read, in the order of their keys, so that
// writers never wait in a circle. A locked row cannot change, so comparing it with the write gives the outcome before
// anything is written: stale and unchanged ones are left out. A row that was not there is inserted by a plain INSERT,
// which fails if another writer was faster; then the transaction starts over and finds the row. A row that was there is
// upserted under the version check, which must count two affected rows for each: were the comparison here and the check
// in SQL ever of different opinion, the transaction would be given up rather than report a wrong outcome.
import type { KindDefinition } from '../../../api/kind.ts';
import { StorageContentionError } from '../../errors.ts';
import type { WriteOutcome } from '../../metadata-storage.ts';
import { chunks, padded, refuseTooLarge, statementBytes } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';
import { type KindStatements, statementsFor } from '../schema/statements.ts';
import { toSqlTime } from '../sql-time.ts';
import { addPairs, type PairChange, writePairs } from './pair-writer.ts';
import type { PendingWrite } from './pending-write.ts';

const MAIN_ROWS = 64;

interface LockedRow {
  readonly resourceVersion: string;
  readonly state: number;
  readonly labelsHash: Buffer | null;
  readonly annotationsHash: Buffer | null;
}

/** Writes objects of any kinds, at most one write per object. The outcomes are in the order of the writes. */
export async function writeBatch(
  session: SqlSession,
  writes: readonly PendingWrite[],
): Promise<readonly WriteOutcome[]> {
  const outcomes = new Map<PendingWrite, WriteOutcome>();
  const byKind = [...Map.groupBy(writes, ({ row }) => row.kind)].sort(([left], [right]) =>
    compare(left.table, right.table),
  );
  for (const [kind, ofKind] of byKind) {
    const sorted = ofKind.toSorted((left, right) => compare(left.row.uid, right.row.uid));
    for (const [write, outcome] of await writeKind(session, kind, sorted)) outcomes.set(write, outcome);
  }
  return writes.map((write) => outcomes.get(write) ?? 'stale');
}

async function writeKind(
  session: SqlSession,
  kind: KindDefinition,
  writes: readonly PendingWrite[],
): Promise<ReadonlyMap<PendingWrite, WriteOutcome>> {
  const statements = statementsFor(kind);
  const locked = await lockRows(session, statements, writes);
  const outcomes = new Map(writes.map((write) => [write, outcomeOf(write, locked.get(write.row.uid))]));
  const withOutcome = (wanted: WriteOutcome): PendingWrite[] =>
    writes.filter((write) => outcomes.get(write) === wanted);
  const inserted = withOutcome('inserted');
  const updated = withOutcome('updated');
  await writeRows(session, inserted, statements.insert, 1);
  for (const statement of ['write', 'finish'] as const) {
    const rows = updated.filter((write) => write.statement === statement);
    await writeRows(session, rows, statements[statement], 2);
  }
  await writeAllPairs(session, statements, { inserted, updated, locked });
  return outcomes;
}

async function lockRows(
  session: SqlSession,
  statements: KindStatements,
  writes: readonly PendingWrite[],
): Promise<ReadonlyMap<string, LockedRow>> {
  const uids = padded(writes.map(({ row }) => row.uid));
  const rows = await session.query(statements.lock(uids.length), uids);
  return new Map(
    rows.map(([uid, resourceVersion, state, labelsHash, annotationsHash]) => [
      String(uid),
      {
        resourceVersion: String(resourceVersion),
        state: Number(state),
        labelsHash: labelsHash as Buffer | null,
        annotationsHash: annotationsHash as Buffer | null,
      },
    ]),
  );
}

/** What the version check in statements.ts will do with this write. */
function outcomeOf(write: PendingWrite, stored: LockedRow | undefined): WriteOutcome {
  if (stored === undefined) return 'inserted';
  const difference = BigInt(write.row.resourceVersion) - BigInt(stored.resourceVersion);
  if (difference < 0n) return 'stale';
  return difference > 0n || write.state > stored.state ? 'updated' : 'unchanged';
}

async function writeRows(
  session: SqlSession,
  writes: readonly PendingWrite[],
  statement: (rows: number) => string,
  affectedPerRow: number,
): Promise<void> {
  const limits = {
    bytesOf: (write: PendingWrite) => write.mainBytes,
    maxBytes: statementBytes(session),
    maxRows: MAIN_ROWS,
  };
  for (const chunk of chunks(writes, limits)) {
    refuseTooLarge(session, chunk[0]?.mainBytes ?? 0);
    const parameters = chunk.flatMap((write) => write.parameters);
    const affected = await session.execute(statement(chunk.length), parameters);
    if (affected !== chunk.length * affectedPerRow) {
      throw new StorageContentionError('a row changed between its lock and its write', undefined);
    }
  }
}

interface Written {
  readonly inserted: readonly PendingWrite[];
  readonly updated: readonly PendingWrite[];
  readonly locked: ReadonlyMap<string, LockedRow>;
}

/** Rows of equal hash are not even read; a NULL hash, from before the column existed, is equal to nothing. */
async function writeAllPairs(
  session: SqlSession,
  statements: KindStatements,
  { inserted, updated, locked }: Written,
): Promise<void> {
  for (const part of ['labels', 'annotations'] as const) {
    const changeOf = ({ row }: PendingWrite): PairChange => ({
      uid: row.uid,
      pairs: row[part],
      extra: part === 'labels' ? [toSqlTime(row.createTime)] : [],
    });
    const added = inserted.filter(({ row }) => row[part].length > 0);
    const changed = updated.filter(
      (write) => locked.get(write.row.uid)?.[`${part}Hash`]?.equals(write[part].hash) !== true,
    );
    await addPairs(
      session,
      statements[part],
      added.map((write) => ({ ...changeOf(write), text: write[part].text })),
    );
    await writePairs(session, statements[part], changed.map(changeOf));
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
