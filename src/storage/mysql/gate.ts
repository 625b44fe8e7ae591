// The writer gate: one row that every write transaction reads under a shared lock and keeps until it commits. Closing
// the gate updates the row, so the update waits for the transactions under way and holds back later ones.
//
// The same row says which programs may write, so a schema never changes under a transaction that does not know it.
import { type Clock, sleep } from '../../base/clock.ts';
import type { TableNames } from '../../kinds/kind-names.ts';
import { GateClosedError, GateHeldError, StorageSchemaMissingError } from '../errors.ts';
import { refuseUnsupported, type SchemaRange } from '../schema-range.ts';
import { CLUSTERS_TABLE, claim, isDatabaseOf } from './clusters.ts';
import type { ClusterIdentity, MysqlPool, SqlRow, SqlSession } from './pool.ts';

const COLUMNS =
  'SELECT `closed_by`, `schema_version`, `min_reader`, `min_writer`, `table_names`, `changed_at`, ' +
  'TIMESTAMPDIFF(MICROSECOND, `changed_at`, UTC_TIMESTAMP(6)) DIV 1000';
const READ = `${COLUMNS} FROM \`ingester_gate\` WHERE \`id\` = 1`;
/** Both servers know this form of the shared lock, and it needs no right beyond SELECT. */
const SHARED = `${READ} LOCK IN SHARE MODE`;
/** One way to the server for both: each write begins with it. */
const SHARED_WITH_CLUSTER =
  `${COLUMNS}, c.\`since\` FROM \`ingester_gate\` g LEFT JOIN \`${CLUSTERS_TABLE}\` c ON c.\`uid\` = ? ` +
  'WHERE g.`id` = 1 LOCK IN SHARE MODE';
const EXCLUSIVE = `${READ} FOR UPDATE`;
/** A holder that closes it again goes on with the same closing. */
const CLOSE =
  'UPDATE `ingester_gate` SET `changed_at` = IF(`closed_by` <=> ?, `changed_at`, UTC_TIMESTAMP(6)), ' +
  '`closed_by` = ?, `reason` = ? WHERE `id` = 1';
/** Keeps the time: it is that of the last closing. */
const OPEN = 'UPDATE `ingester_gate` SET `closed_by` = NULL, `reason` = NULL WHERE `id` = 1';

/** When the gate was closed for the last time, open again or not. */
export interface Closing {
  /** MySQL's time, which is never that of another closing; empty where the gate never was closed. */
  readonly at: string;
  /** Milliseconds ago; Infinity where it never was. */
  readonly ageMs: number;
  /** Who holds it closed. */
  readonly holder: string | undefined;
}

export interface Pass {
  /** A gate that is closed under this name lets the task through that it is lent to. */
  readonly lent?: string | undefined;
  /** Whose objects are written; missing for a task that works on rows as they are, whatever cluster they came from. */
  readonly cluster?: ClusterIdentity | undefined;
  /** Told of the last closing of the gate. */
  readonly onClosing?: (closing: Closing) => void;
}

/**
 * The work of a transaction that passes something, the gate or the fence, before it writes. Where the servers of a
 * transaction commit one after another, this is passed after the rows are locked: its lock then ends last, and holds back who
 * closes the gate until all the others have committed. All work locks what it writes before its first write.
 */
export async function passing<T>(
  session: SqlSession,
  pass: () => Promise<void>,
  work: (session: SqlSession) => Promise<T>,
): Promise<T> {
  if (session.dialect.gate === 'first') {
    await pass();
    return work(session);
  }
  let passed: Promise<void> | undefined;
  const execute: SqlSession['execute'] = async (sql, parameters) => {
    await (passed ??= pass());
    return session.execute(sql, parameters);
  };
  const result = await work({ ...session, execute });
  await (passed ??= pass());
  return result;
}

/** What `passing` calls in every write transaction. */
export async function passGate(session: SqlSession, { lent, cluster, onClosing }: Pass): Promise<void> {
  const row = await (cluster === undefined
    ? readRow(session, SHARED)
    : readRow(session, SHARED_WITH_CLUSTER, [cluster.uid]));
  onClosing?.(closingOf(row));
  const holder = textOf(row[0]);
  if (holder !== undefined && holder !== lent) throw new GateClosedError(holder);
  refuseUnsupported(rangeOf(row), 'write');
  if (cluster !== undefined && !isDatabaseOf(cluster, textOf(row[7]))) await claim(session, cluster);
}

/**
 * Throws where this program must not read. Taken at the start and now and then, not for every read. Gives the last closing
 * of the gate, as `passGate` does.
 */
export async function checkReadable(session: SqlSession): Promise<Closing> {
  const row = await readRow(session, READ);
  refuseUnsupported(rangeOf(row), 'read');
  return closingOf(row);
}

export interface Gate {
  readonly holder: string | undefined;
  readonly range: SchemaRange;
  /** Undefined until the first migration is complete. */
  readonly tableNames: TableNames | undefined;
}

export async function readGate(session: SqlSession): Promise<Gate> {
  const row = await readRow(session, READ);
  return { holder: textOf(row[0]), range: rangeOf(row), tableNames: textOf(row[4]) as TableNames | undefined };
}

export async function closeGate(session: SqlSession, holder: string, reason: string): Promise<void> {
  await refuseOthers(session, holder);
  await session.execute(CLOSE, [holder, holder, reason.slice(0, 1024)]);
}

export async function openGate(session: SqlSession, holder: string): Promise<void> {
  await refuseOthers(session, holder);
  await session.execute(OPEN, []);
}

/**
 * Where the server of the gate may lose a lock while other servers of the same transaction go on, as when it fails over, what
 * had passed the gate can write until its transaction is ended. Who closed the gate waits for that long, counted from
 * when it was closed.
 */
export async function waitUntilClosed(
  pool: Pick<MysqlPool, 'read'>,
  clock: Clock,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const restMs = await pool.read(async (session) => {
    const { gateSettlesMs } = session.dialect;
    return gateSettlesMs === 0 ? 0 : gateSettlesMs - closingOf(await readRow(session, READ)).ageMs;
  });
  if (restMs > 0) await sleep(clock, restMs, signal);
}

async function refuseOthers(session: SqlSession, holder: string): Promise<void> {
  const current = textOf((await readRow(session, EXCLUSIVE))[0]);
  if (current !== undefined && current !== holder) throw new GateHeldError(current);
}

async function readRow(session: SqlSession, sql: string, parameters: readonly string[] = []): Promise<SqlRow> {
  const [row] = await session.query(sql, parameters);
  if (row === undefined) throw new StorageSchemaMissingError('the row of ingester_gate is missing');
  return row;
}

function closingOf(row: SqlRow): Closing {
  const at = textOf(row[5]);
  const holder = textOf(row[0]);
  return at === undefined ? { at: '', ageMs: Number.POSITIVE_INFINITY, holder } : { at, ageMs: Number(row[6]), holder };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function rangeOf([, version, minReader, minWriter]: SqlRow): SchemaRange {
  return { version: Number(version), minReader: Number(minReader), minWriter: Number(minWriter) };
}
