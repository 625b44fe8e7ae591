// Puts the database back to a snapshot. The tables are copied beside the ones in use and compared with what the snapshot
// says of itself; then one statement changes places. Readers see the one state or the other.

import { CodedError } from '../../../base/errors.ts';
import type { TableNames, TableNamesSetting } from '../../../kinds/kind-names.ts';
import { ownTables } from '../schema/own-tables.ts';
import { quoted } from '../schema/statements.ts';
import { resolveTableNames } from '../schema/table-naming.ts';
import { copyTable, qualified, sumTable } from './copy-table.ts';
import { attemptOf, type Exclusive, type ExclusiveTask, exclusively } from './exclusive-task.ts';
import { withGateClosed } from './gate-control.ts';
import { rowsOf, type WholeTaskOptions, walkOf } from './snapshot.ts';
import { type Snapshot, SnapshotDamagedError, SnapshotStore } from './snapshot-store.ts';

export interface RestoreSnapshotOptions extends WholeTaskOptions {
  /** Where snapshots lie. */
  readonly database: string;
  readonly tableNames: TableNamesSetting;
  readonly id: string;
  /** What is to become of ended objects that the snapshot does not have as they ended. */
  readonly newer: 'refuse' | 'discard';
  readonly gateTimeoutMs: number;
}

export interface RestoreSnapshotReport {
  readonly snapshot: string;
  readonly rows: number;
  readonly schema: Snapshot['schema'];
  /** Ended objects whose last state was in the replaced tables only, by table; empty unless they were to be discarded. */
  readonly discarded: Readonly<Record<string, number>>;
}

/** MySQL holds the only copy of these objects. */
export class SnapshotTooOldError extends CodedError {
  constructor(id: string, lost: Readonly<Record<string, number>>) {
    const list = Object.entries(lost).map(([table, rows]) => `${table}: ${rows}`);
    super(
      'SNAPSHOT_TOO_OLD',
      `Objects were deleted or evicted since snapshot ${id} was taken, and the database has the only copy of their last ` +
        `state (${list.join(', ')}). Nothing was changed. Take a snapshot of the database as it is, then restore with ` +
        '--discard-newer.',
    );
  }
}

const NEW = 'ingester_new__';
const OLD = 'ingester_old__';

export async function restoreSnapshot(options: RestoreSnapshotOptions): Promise<RestoreSnapshotReport> {
  const access = options.mysql;
  const task: ExclusiveTask = {
    access,
    ...attemptOf('restore-snapshot', options.attempt),
    tables: 'require',
    needs: 'snapshots',
  };
  const { result } = await exclusively(task, async (exclusive) => {
    const store = new SnapshotStore(exclusive.connection, options.database);
    const snapshot = await store.verified(options.id);
    const closed = { ...options, holder: 'ingester task restore-snapshot', reason: `going back to ${options.id}` };
    return withGateClosed(exclusive, closed, async (open) => {
      const report = await replaceAll(exclusive, store, { snapshot, options });
      await exclusive.complete(report, open);
      return report;
    });
  });
  return result;
}

interface Source {
  readonly snapshot: Snapshot;
  readonly options: RestoreSnapshotOptions;
}

async function replaceAll(
  exclusive: Exclusive,
  store: SnapshotStore,
  { snapshot, options }: Source,
): Promise<RestoreSnapshotReport> {
  const { connection, pass } = exclusive;
  await dropLeftovers(exclusive, [NEW, OLD]);
  const discarded = await endedSince(exclusive, store, { snapshot, options });
  if (options.newer === 'refuse' && Object.keys(discarded).length > 0) {
    throw new SnapshotTooOldError(snapshot.id, discarded);
  }
  await copyBeside(exclusive, store, { snapshot, options });
  await pass(connection);
  await connection.run(await exchange(exclusive, snapshot, options));
  const { version, minReader, minWriter } = snapshot.schema;
  await connection.transaction(async () => {
    await pass(connection);
    await connection.execute(
      'UPDATE `ingester_gate` SET `schema_version` = ?, `min_reader` = ?, `min_writer` = ?, `table_names` = ? WHERE `id` = 1',
      [version, minReader, minWriter, snapshot.tableNames ?? null],
    );
  });
  await dropLeftovers(exclusive, [OLD]);
  return { snapshot: snapshot.id, rows: rowsOf(snapshot.tables), schema: snapshot.schema, discarded };
}

/** Nothing in use is touched before every table is there and is what the snapshot says. */
async function copyBeside(exclusive: Exclusive, store: SnapshotStore, { snapshot, options }: Source): Promise<void> {
  const { connection } = exclusive;
  const different: string[] = [];
  for (const { table, rows, checksum } of snapshot.tables) {
    const to = { database: options.mysql.database, table: NEW + table };
    await copyTable(connection, store.tableOf(snapshot.id, table), to, walkOf(exclusive, options, `${table}, copied`));
    const copied = await sumTable(connection, to, walkOf(exclusive, options, `${table}, compared`));
    if (copied.rows !== rows || copied.checksum !== checksum) different.push(table);
  }
  if (different.length === 0) return;
  await dropLeftovers(exclusive, [NEW]);
  throw new SnapshotDamagedError(`Snapshot ${snapshot.id}`, different);
}

/** Tables that the snapshot does not have go too: a later migration made them, and the ledger forgets it. */
async function exchange(
  { connection }: Exclusive,
  { tables }: Snapshot,
  { tableNames, mysql: { database } }: RestoreSnapshotOptions,
): Promise<string> {
  const name = (table: string): string => qualified({ database, table });
  const away = (await ownTables(connection, await resolveTableNames(connection, tableNames))).map(
    (table) => `${name(table)} TO ${name(OLD + table)}`,
  );
  const here = tables.map(({ table }) => `${name(NEW + table)} TO ${name(table)}`);
  return `RENAME TABLE ${[...away, ...here].join(', ')}`;
}

/** A killed run leaves tables of its own; those in use have other names. */
async function dropLeftovers({ connection, pass }: Exclusive, prefixes: readonly string[]): Promise<void> {
  const rows = await connection.query(
    'SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = DATABASE()',
  );
  const names = rows.map(([name]) => String(name));
  for (const table of names.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))) {
    await pass(connection);
    await connection.run(`DROP TABLE IF EXISTS ${quoted(table)}`);
  }
}

/** Ended objects, by table, whose last state the snapshot does not have. */
async function endedSince(
  { connection }: Exclusive,
  store: SnapshotStore,
  { snapshot, options }: Source,
): Promise<Record<string, number>> {
  const inSnapshot = new Set(snapshot.tables.map(({ table }) => table));
  const lost: Record<string, number> = {};
  for (const table of await kindTables(connection, await resolveTableNames(connection, options.tableNames))) {
    const other = qualified(store.tableOf(snapshot.id, table));
    const [row] = inSnapshot.has(table)
      ? await connection.query(
          `SELECT COUNT(*) FROM ${quoted(table)} c LEFT JOIN ${other} s ON s.\`uid\` = c.\`uid\` WHERE c.\`row_state\` >= 2 ` +
            'AND (s.`uid` IS NULL OR s.`row_state` <> c.`row_state` OR s.`content_hash` <> c.`content_hash`)',
        )
      : await connection.query(`SELECT COUNT(*) FROM ${quoted(table)} WHERE \`row_state\` >= 2`);
    if (Number(row?.[0]) > 0) lost[table] = Number(row?.[0]);
  }
  return lost;
}

/** Main tables only. */
async function kindTables(connection: Exclusive['connection'], names: TableNames): Promise<readonly string[]> {
  const all = await ownTables(connection, names);
  return all.filter((table) => !table.startsWith('ingester_') && !/_(?:labels|annotations)$/.test(table));
}
