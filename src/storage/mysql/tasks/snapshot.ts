// A verified copy of the database at one moment. The gate is closed for it, so nothing changes while it is made; a copy
// that was cut short is thrown away by the next run.

import type { Clock } from '../../../base/clock.ts';
import type { TableNamesSetting } from '../../../kinds/kind-names.ts';
import { refuseLacking } from '../dialect.ts';
import { readGate } from '../gate.ts';
import type { MysqlOptions } from '../pool.ts';
import { ownTables } from '../schema/own-tables.ts';
import { resolveTableNames } from '../schema/table-naming.ts';
import { copyTable, PAGE_ROWS, type QualifiedTable, sumTable, type Walk } from './copy-table.ts';
import { attemptOf, type Exclusive, type ExclusiveTask, exclusively } from './exclusive-task.ts';
import { withGateClosed } from './gate-control.ts';
import { openMigrationConnection } from './migration-connection.ts';
import {
  expendable,
  type Retention,
  type Snapshot,
  SnapshotDamagedError,
  SnapshotExistsError,
  SnapshotStore,
  type SnapshotTable,
} from './snapshot-store.ts';

/** Options of tasks that work on whole tables. */
export interface WholeTaskOptions {
  readonly mysql: MysqlOptions;
  readonly clock: Clock;
  readonly attempt: string | undefined;
  readonly gateHolder: string | undefined;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface SnapshotOptions extends WholeTaskOptions {
  /** Where snapshots lie. */
  readonly database: string;
  readonly tableNames: TableNamesSetting;
  readonly id: string;
  readonly reason: string;
  readonly retention: Retention;
  /** Milliseconds to wait for writes under way. */
  readonly gateTimeoutMs: number;
}

const PROGRESS_ROWS = 10_000;

export interface SnapshotReport {
  readonly snapshot: string;
  readonly rows: number;
  readonly tables: readonly SnapshotTable[];
  readonly schema: Snapshot['schema'];
  /** Snapshots that retention let go. */
  readonly dropped: readonly string[];
}

export async function takeSnapshot(options: SnapshotOptions): Promise<SnapshotReport> {
  const access = options.mysql;
  const task: ExclusiveTask = {
    access,
    ...attemptOf('snapshot', options.attempt),
    tables: 'require',
    needs: 'snapshots',
  };
  const { result } = await exclusively(task, async (exclusive) => {
    const store = new SnapshotStore(exclusive.connection, options.database);
    await store.prepare();
    const closed = { ...options, holder: 'ingester task snapshot', reason: `snapshot ${options.id}` };
    const report = await withGateClosed(exclusive, closed, () => snapshotNow(exclusive, store, options));
    return { ...report, dropped: await applyRetention(store, options.retention) };
  });
  return result;
}

type Taken = Omit<SnapshotReport, 'dropped'>;

async function snapshotNow(exclusive: Exclusive, store: SnapshotStore, options: SnapshotOptions): Promise<Taken> {
  const snapshots = await store.list();
  for (const { id } of snapshots.filter(({ state }) => state === 'creating')) await store.drop(id);
  const same = snapshots.find(({ id, state }) => id === options.id && state === 'verified');
  return same === undefined ? copyAll(exclusive, store, options) : confirm(exclusive, same, options);
}

/** A run before took this snapshot, and died before it could say so: then nothing has changed since. */
async function confirm(exclusive: Exclusive, snapshot: Snapshot, options: SnapshotOptions): Promise<Taken> {
  const { id, tables, schema } = snapshot;
  for (const { table, checksum } of tables) {
    const now = await sumTable(
      exclusive.connection,
      { database: options.mysql.database, table },
      walkOf(exclusive, options, `${table}, compared`),
    );
    if (now.checksum !== checksum) throw new SnapshotExistsError(id);
  }
  return { snapshot: id, rows: rowsOf(tables), tables, schema };
}

async function copyAll(exclusive: Exclusive, store: SnapshotStore, options: SnapshotOptions): Promise<Taken> {
  const { connection, pass } = exclusive;
  const { id, reason, mysql } = options;
  const { range, tableNames } = await readGate(connection);
  await connection.transaction(async () => {
    await pass(connection);
    await store.begin(connection, { id, reason, schema: range, tableNames });
  });
  const tables: SnapshotTable[] = [];
  const different: string[] = [];
  for (const table of await ownTables(connection, await resolveTableNames(connection, options.tableNames))) {
    const from: QualifiedTable = { database: mysql.database, table };
    const to = store.tableOf(id, table);
    await copyTable(connection, from, to, walkOf(exclusive, options, `${table}, copied`));
    const wanted = await sumTable(connection, from, walkOf(exclusive, options, `${table}, read`));
    const copied = await sumTable(connection, to, walkOf(exclusive, options, `${table}, read back`));
    if (copied.checksum !== wanted.checksum || copied.rows !== wanted.rows) different.push(table);
    tables.push({ table, ...wanted });
  }
  if (different.length > 0) throw new SnapshotDamagedError(`Snapshot ${id}`, different);
  await connection.transaction(async () => {
    await pass(connection);
    await store.finish(connection, id, tables);
  });
  return { snapshot: id, rows: rowsOf(tables), tables, schema: range };
}

/** Reports progress of large tables only: a line for each page of a small one is noise. */
export function walkOf({ connection, pass }: Exclusive, { signal, progress }: WholeTaskOptions, what: string): Walk {
  return {
    before: async () => {
      signal.throwIfAborted();
      await pass(connection);
    },
    progress: (rows) => {
      if (rows > 0 && rows % PROGRESS_ROWS < PAGE_ROWS) progress(`${what}: ${rows} rows`);
    },
  };
}

export function rowsOf(tables: readonly SnapshotTable[]): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

async function applyRetention(store: SnapshotStore, retention: Retention): Promise<readonly string[]> {
  const dropped = expendable(await store.list(), retention);
  for (const id of dropped) await store.drop(id);
  return dropped;
}

export async function listSnapshots(mysql: MysqlOptions, database: string): Promise<readonly Snapshot[]> {
  return withStore(mysql, database, (store) => store.list());
}

/** Whatever retention says; what is not there is gone already. */
export async function dropSnapshot(mysql: MysqlOptions, database: string, id: string): Promise<void> {
  await withStore(mysql, database, async (store) => {
    if ((await store.list()).length > 0) await store.drop(id);
  });
}

async function withStore<T>(
  mysql: MysqlOptions,
  database: string,
  work: (store: SnapshotStore) => Promise<T>,
): Promise<T> {
  const connection = await openMigrationConnection(mysql);
  try {
    refuseLacking(connection.dialect, 'snapshots');
    return await work(new SnapshotStore(connection, database));
  } finally {
    connection.close();
  }
}
