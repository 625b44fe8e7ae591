// Writes the objects of one batch inside one transaction and knows the outcome of each.
//
// How the outcomes are known. First the rows that exist are locked and read, of all kinds, in the order of their keys, so
// that writers never wait in a circle. A locked row cannot change, so comparing it with the write gives the outcome before
// anything is written: stale and unchanged ones are left out. A row that was not there is inserted by a plain INSERT,
// which fails if another writer was faster; then the transaction starts over and finds the row. A row that was there is
// upserted under the version check, which must count two affected rows for each: were the comparison here and the check
// in SQL ever of different opinion, the transaction would be given up rather than report a wrong outcome.
import type { KindDefinition } from '../../../api/kind.ts';
import { StorageContentionError } from '../../errors.ts';
import type { WriteOutcome } from '../../metadata-storage.ts';
import { chunks, refuseTooLarge, statementBytes } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';
import { type KindStatements, OWN_UPDATE_SQL, type PairStatements, statementsFor } from '../schema/statements.ts';
import type { TableNaming } from '../schema/table-naming.ts';
import { toSqlTime } from '../sql-time.ts';
import { addPairs, type PairChange, writePairs } from './pair-writer.ts';
import { type PendingWrite, parametersFor } from './pending-write.ts';
import { type LockedRows, lockRows, type Placed, place } from './placement.ts';
import type { ShardsAway } from './shards-away.ts';

const MAIN_ROWS = 64;

export interface BatchOptions {
  /** The tables are those of the kinds where it is missing. */
  readonly naming?: TableNaming;
  /** Told of each new row that could not have the key it was to have. */
  readonly onTaken?: (write: PendingWrite, key: string) => void;
  /** New objects are not asked for while one of them is away. */
  readonly shards?: ShardsAway;
  /** Asked once the rows are locked: the time of the write, as readers of the change feed see it. */
  readonly now: () => string;
  /** Whether it may have been written before, at a time that is not known: then its row gets the time of now. */
  readonly isRepeated?: (write: PendingWrite) => boolean;
}

/**
 * Writes objects of any kinds, at most one write per object. The outcomes are in the order of the writes.
 */
export async function writeBatch(
  session: SqlSession,
  writes: readonly PendingWrite[],
  { naming, onTaken, shards, now, isRepeated = () => false }: BatchOptions,
): Promise<readonly WriteOutcome[]> {
  const outcomes = new Map<PendingWrite, WriteOutcome>();
  const byKind = [...Map.groupBy(writes, ({ row }) => row.kind)].sort(([left], [right]) =>
    compare(left.table, right.table),
  );
  const locked: {
    readonly kind: KindDefinition;
    readonly writes: readonly PendingWrite[];
    readonly rows: LockedRows;
  }[] = [];
  for (const [kind, ofKind] of byKind) {
    const sorted = ofKind.toSorted((left, right) => compare(left.row.uid, right.row.uid));
    const named = (await naming?.of(session, kind)) ?? kind;
    locked.push({ kind: named, writes: sorted, rows: await lockRows(session, named, sorted, shards) });
  }
  for (const { kind: named, writes: sorted, rows } of locked) {
    const placed = await place(session, named, sorted, rows);
    const at = now();
    await writePlaced(session, statementsFor(named, session.dialect), placed, at);
    const repeated = placed.filter((one) => outcomeOf(one) === 'unchanged' && isRepeated(one.write));
    await noteAgain(session, named, repeated, at);
    for (const one of placed) outcomes.set(one.write, outcomeOf(one));
    for (const { write, taken } of placed) if (taken !== undefined) onTaken?.(write, taken);
  }
  return writes.map((write) => outcomes.get(write) ?? 'stale');
}

async function noteAgain(
  session: SqlSession,
  { table }: KindDefinition,
  placed: readonly Placed[],
  time: string,
): Promise<void> {
  for (const { key } of placed)
    await session.execute(`UPDATE \`${table}\` SET ${OWN_UPDATE_SQL} WHERE \`uid\` = ?`, [time, time, key]);
}

async function writePlaced(
  session: SqlSession,
  statements: KindStatements,
  placed: readonly Placed[],
  at: string,
): Promise<void> {
  const withOutcome = (wanted: WriteOutcome): Placed[] => placed.filter((one) => outcomeOf(one) === wanted);
  const inserted = withOutcome('inserted');
  const updated = withOutcome('updated');
  await writeRows(session, inserted, { statement: statements.insert, affectedPerRow: 1, at });
  for (const statement of ['write', 'finish'] as const) {
    const rows = updated.filter(({ write }) => write.statement === statement);
    await writeRows(session, rows, { statement: statements[statement], affectedPerRow: 2, at });
  }
  await writeAllPairs(session, statements, { inserted, updated });
}

/** What the version check in statements.ts will do with this write. */
function outcomeOf({ write, stored }: Placed): WriteOutcome {
  if (stored === undefined) return 'inserted';
  if (stored === 'of a later one') return 'stale';
  const difference = BigInt(write.row.resourceVersion) - BigInt(stored.resourceVersion);
  if (difference < 0n) return 'stale';
  const moves = write.state > stored.state || (write.state === stored.state && stored.foreign);
  return difference > 0n || moves ? 'updated' : 'unchanged';
}

interface RowStatement {
  readonly statement: (rows: number) => string;
  readonly affectedPerRow: number;
  readonly at: string;
}

async function writeRows(
  session: SqlSession,
  placed: readonly Placed[],
  { statement, affectedPerRow, at }: RowStatement,
): Promise<void> {
  const limits = {
    bytesOf: ({ write }: Placed) => write.mainBytes,
    maxBytes: statementBytes(session),
    maxRows: MAIN_ROWS,
  };
  for (const chunk of chunks(placed, limits)) {
    refuseTooLarge(session, chunk[0]?.write.mainBytes ?? 0);
    const parameters = chunk.flatMap(({ write, key }) => parametersFor(write, key, at));
    const affected = await session.execute(statement(chunk.length), parameters);
    if (affected !== chunk.length * affectedPerRow) {
      throw new StorageContentionError('a row changed between its lock and its write', undefined);
    }
  }
}

interface Written {
  readonly inserted: readonly Placed[];
  readonly updated: readonly Placed[];
}

/** Rows of equal hash are not even read; a NULL hash, from before the column existed, is equal to nothing. */
async function writeAllPairs(
  session: SqlSession,
  statements: KindStatements,
  { inserted, updated }: Written,
): Promise<void> {
  for (const part of ['labels', 'annotations'] as const) {
    const changeOf = ({ write, key }: Placed): PairChange => ({
      uid: key,
      pairs: write[part].pairs,
      extra: part === 'labels' ? [toSqlTime(write.row.createTime)] : [],
    });
    const added = inserted.filter(({ write }) => write[part].pairs.length > 0);
    const changed = updated.filter(
      ({ write, stored }) => typeof stored !== 'object' || stored[`${part}Hash`]?.equals(write[part].hash) !== true,
    );
    await addPairs(
      session,
      statements[part],
      added.map((one) => ({ ...changeOf(one), text: one.write[part].text })),
    );
    await writePairs(session, statements[part], changed.map(changeOf));
    await dateForeign(session, statements[part], updated);
  }
}

/** What the original wrote of a label has no creation time of its object, by which lists find it. */
async function dateForeign(session: SqlSession, { date }: PairStatements, updated: readonly Placed[]): Promise<void> {
  if (date === undefined) return;
  for (const { write, key, stored } of updated) {
    if (typeof stored === 'object' && stored.foreign)
      await session.execute(date, [toSqlTime(write.row.createTime), key]);
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
