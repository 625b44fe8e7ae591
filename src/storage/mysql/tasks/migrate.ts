// Brings a database to the schema of this version. One runner at a time; whatever instruction it is killed at, running it
// again ends in the same schema.
import type { KindDefinition } from '../../../api/kind.ts';
import type { Clock } from '../../../base/clock.ts';
import { CodedError } from '../../../base/errors.ts';
import type { TableNames, TableNamesSetting } from '../../../kinds/kind-names.ts';
import { kindsUnder } from '../../../kinds/kinds.ts';
import { GateHeldError, SchemaNewerError } from '../../errors.ts';
import type { ReadOriginal } from '../../original.ts';
import type { SchemaRange } from '../../schema-range.ts';
import type { MysqlAccess } from '../access.ts';
import { refuseLacking } from '../dialect.ts';
import { openGate, passing, readGate } from '../gate.ts';
import { translateMysqlError } from '../mysql-errors.ts';
import type { SqlSession } from '../pool.ts';
import { createLedger, LEDGER_TABLE, type LedgerEntry, readLedger } from '../schema/ledger.ts';
import { knownMigrationNames, type Migration, migrationsFor } from '../schema/migration-files.ts';
import { presentTables } from '../schema/present-tables.ts';
import { quoted } from '../schema/statements.ts';
import { resolveTableNames } from '../schema/table-naming.ts';
import { parseCreateTable, readTables, type TableShape } from '../schema/table-shape.ts';
import { systemTables } from '../schema/tables.ts';
import { refuseOldServer } from '../server-version.ts';
import {
  type AdoptedTable,
  type AdoptionHost,
  adoptTables,
  refuseProblems,
  tablesToAdopt,
  takeOverRows,
} from './adopt.ts';
import { planAdoption } from './adoption-plan.ts';
import { applyMigration } from './apply-migration.ts';
import { attemptOf, type Exclusive, type ExclusiveTask, exclusively, type Finished } from './exclusive-task.ts';
import { type MigrationConnection, openMigrationConnection } from './migration-connection.ts';
import { createFence, FENCE_TABLE } from './task-fence.ts';

export interface MigrateOptions {
  readonly access: MysqlAccess;
  /** Whose tables there shall be; those of kinds that are not optional are made in any case. */
  readonly kinds: readonly KindDefinition[];
  readonly tableNames: TableNamesSetting;
  readonly readOriginal: ReadOriginal;
  readonly clock: Clock;
  /** One progress line for the user. */
  readonly progress?: (line: string) => void;
  /** Rest between the pages of a back-fill, as a multiple of the time of a page; 1 where it is missing. */
  readonly restFactor?: number;
  readonly migrations?: readonly Migration[];
  /** Which attempt this is; without it, one that waits for whatever runs. */
  readonly attempt?: string | undefined;
  /** Who closed the gate for this run and opens it again. Without it the gate must be open, or closed by a run before. */
  readonly gateHolder?: string | undefined;
  readonly signal?: AbortSignal;
}

export interface MigrationReport {
  /** Names of the migrations that this run completed. */
  readonly applied: readonly string[];
  readonly adopted: readonly AdoptedTable[];
  readonly warnings: readonly string[];
  readonly schema: SchemaRange;
}

/** Who holds the gate while a migration keeps writers out. Always the same name, so that the next run opens it. */
const HOLDER = 'ingester task migrate';

export async function migrate(options: MigrateOptions): Promise<MigrationReport> {
  return (await migrateOnce(options)).result;
}

/** Tells beside the report whether this very attempt was complete before. */
export function migrateOnce(options: MigrateOptions): Promise<Finished<MigrationReport>> {
  const task: ExclusiveTask = {
    access: options.access,
    ...attemptOf('migrate', options.attempt),
    tables: 'create',
  };
  return exclusively(task, (exclusive) => migrateWithin(exclusive, options));
}

/** For a task that is alone with the database already. */
export async function migrateWithin(exclusive: Exclusive, options: MigrateOptions): Promise<MigrationReport> {
  await prepareLedger(exclusive.connection);
  return run(exclusive, options);
}

/** The statements that `migrate` would run now, without running any. */
export function planMigration(asked: MigrateOptions): Promise<readonly string[]> {
  return withConnection(asked, async (connection) => {
    const options = await withNames(connection, asked);
    const tables = await readTables(connection);
    const own = await presentTables(connection, [LEDGER_TABLE, FENCE_TABLE]);
    const known = own.has(LEDGER_TABLE);
    const pending = pendingOf(options, known ? await readLedger(connection) : new Map<string, LedgerEntry>());
    const adoptable = tablesToAdopt(wantedTables(pending), tables);
    refuseProblems(adoptable, await strangeNames(connection, tables, options.tableNames));
    const plans = adoptable.map(([found, wanted]) => planAdoption(found, wanted));
    return [
      ...(own.has(FENCE_TABLE) ? [] : createFence),
      ...(known ? [] : [createLedger]),
      ...plans.flatMap(({ prepare, expand, contract }) => [...prepare, ...expand, ...contract]),
      ...pending.flatMap(({ statements }) => statements),
    ];
  });
}

async function withConnection<T>(
  { access }: MigrateOptions,
  work: (connection: MigrationConnection) => Promise<T>,
): Promise<T> {
  let connection: MigrationConnection | undefined;
  try {
    connection = await openMigrationConnection(access);
    await refuseOldServer(connection);
    return await work(connection);
  } catch (error) {
    throw translateMysqlError(error, access);
  } finally {
    connection?.close();
  }
}

/** Nothing is created that is there, so a database that is up to date needs no right to create tables. */
async function prepareLedger(connection: MigrationConnection): Promise<void> {
  const tables = await presentTables(connection, [LEDGER_TABLE, 'ingester_gate']);
  if (!tables.has(LEDGER_TABLE)) await connection.run(createLedger);
  const hasGate =
    tables.has('ingester_gate') && (await connection.query('SELECT `id` FROM `ingester_gate`')).length > 0;
  if (hasGate) return;
  for (const statement of systemTables().filter((sql) => sql.includes('`ingester_gate`')))
    await connection.run(statement);
}

async function run(exclusive: Exclusive, asked: MigrateOptions): Promise<MigrationReport> {
  const { connection } = exclusive;
  const options = await withNames(connection, asked);
  const gate = await readGate(connection);
  const ledger = await readLedger(connection);
  if (isNewerButSuited(gate.range, ledger, options)) {
    return { applied: [], adopted: [], warnings: [], schema: gate.range };
  }
  if (gate.tableNames !== undefined && gate.tableNames !== options.tableNames) {
    throw new TableNamesError(gate.tableNames, options.tableNames);
  }
  const lent = gate.holder !== undefined && gate.holder === options.gateHolder;
  if (gate.holder !== undefined && gate.holder !== HOLDER && !lent) throw new GateHeldError(gate.holder);
  const pending = pendingOf(options, ledger);
  const adoption = await adopt(exclusive, options, pending);
  const applied: string[] = [];
  for (const migration of pending) {
    options.progress?.(`applying ${migration.name}`);
    const holder = lent ? options.gateHolder : HOLDER;
    const before = async (): Promise<void> => {
      options.signal?.throwIfAborted();
      await exclusive.pass(connection);
    };
    await applyMigration(connection, migration, { entry: ledger.get(migration.name), holder, before });
    applied.push(migration.name);
  }
  const taken = await takeOverRows(adoptionHost(exclusive, options));
  await connection.execute('UPDATE `ingester_gate` SET `table_names` = ? WHERE `id` = 1', [options.tableNames]);
  if (!lent) await connection.transaction(() => openGate(connection, HOLDER));
  const { range } = await readGate(connection);
  return { applied, adopted: [...adoption.tables, ...taken], warnings: adoption.warnings, schema: range };
}

/** Which names the tables have is known before anything else is. */
type NamedOptions = MigrateOptions & { readonly tableNames: TableNames };

async function withNames(session: SqlSession, options: MigrateOptions): Promise<NamedOptions> {
  return { ...options, tableNames: await resolveTableNames(session, options.tableNames) };
}

async function adopt(
  exclusive: Exclusive,
  options: NamedOptions,
  pending: readonly Migration[],
): ReturnType<typeof adoptTables> {
  const { connection } = exclusive;
  const wanted = wantedTables(pending);
  const tables = await readTables(connection);
  const adoptable = tablesToAdopt(wanted, tables);
  refuseProblems(adoptable, wanted.length === 0 ? [] : await strangeNames(connection, tables, options.tableNames));
  return adoptTables(adoptable, adoptionHost(exclusive, options));
}

function adoptionHost({ connection, pass }: Exclusive, options: NamedOptions): AdoptionHost {
  const { tableNames, readOriginal, clock, progress = () => undefined, restFactor = 1 } = options;
  const transaction = <T>(work: (session: SqlSession) => Promise<T>): Promise<T> =>
    connection.transaction(() => passing(connection, () => pass(connection), work));
  return { connection, kinds: kindsUnder(tableNames), readOriginal, clock, restFactor, progress, transaction };
}

/** A newer schema that still suits this program is left alone: a roll-back must not fail because of it. */
function isNewerButSuited(
  range: SchemaRange,
  ledger: ReadonlyMap<string, LedgerEntry>,
  options: NamedOptions,
): boolean {
  const own = Math.max(...migrationsOf(options).map(({ version }) => version?.number ?? 0));
  const known = new Set([...knownMigrationNames(), ...migrationsOf(options).map(({ name }) => name)]);
  const unknown = [...ledger.keys()].filter((name) => !name.includes(' ') && !known.has(name));
  if (unknown.length === 0 && range.version <= own) return false;
  const needed = Math.max(range.minReader, range.minWriter);
  if (needed > own) throw new SchemaNewerError(range.version, needed, own);
  return true;
}

function migrationsOf({ kinds, tableNames, migrations }: NamedOptions): readonly Migration[] {
  return migrations ?? migrationsFor(kinds, tableNames);
}

function pendingOf(options: NamedOptions, ledger: ReadonlyMap<string, LedgerEntry>): readonly Migration[] {
  const migrations = migrationsOf(options);
  const changed = migrations.find(({ name, checksum }) => (ledger.get(name)?.checksum ?? checksum) !== checksum);
  if (changed !== undefined) throw new MigrationChangedError(changed.name);
  return migrations.filter(({ name }) => ledger.get(name)?.applied !== true);
}

function wantedTables(pending: readonly Migration[]): readonly TableShape[] {
  return pending
    .flatMap(({ statements }) => statements)
    .map(parseCreateTable)
    .filter((shape) => shape !== undefined)
    .filter(({ name }) => !name.startsWith('ingester_'));
}

class MigrationChangedError extends CodedError {
  constructor(name: string) {
    super(
      'MIGRATION_CHANGED',
      `Migration ${name} was applied, at least in part, with different content. Restore the file of the release that ` +
        'applied it; changes belong in a new migration.',
    );
  }
}

// The same kind occurs under two names in databases of the original. Only one of them is in use at a time.
export class TableNamesError extends CodedError {
  constructor(stored: string, configured: string) {
    super(
      'TABLE_NAMES_CHANGED',
      `The tables of this database are named in ${stored}, and metadataStorage.tableNames is ${configured}. ` +
        `Set it to ${stored}, or to auto; tables are never renamed.`,
    );
  }
}

/** Rows under the other name would be overlooked, so the operator has to say which tables are meant. */
export async function strangeNames(
  session: SqlSession,
  tables: ReadonlyMap<string, TableShape>,
  configured: TableNames,
): Promise<readonly string[]> {
  const other: TableNames = configured === 'lowercase' ? 'snake_case' : 'lowercase';
  const own = new Set(kindsUnder(configured).map(({ table }) => table));
  const strange = kindsUnder(other)
    .map(({ table }) => table)
    .filter((table) => !own.has(table) && tables.has(table));
  const problems: string[] = [];
  for (const table of strange) {
    const rows = await session.query(`SELECT 1 FROM \`${table}\` LIMIT 1`);
    if (rows.length === 0) continue;
    problems.push(`${table}: it has rows. Set metadataStorage.tableNames to ${other}, or rename the table`);
  }
  return problems;
}

// Creates the database itself, for installations whose user has the privilege for it.

/** True where it was missing. One that is there is left as it is, also where this user may not create one. */
export async function createDatabase(access: MysqlAccess): Promise<boolean> {
  const { database } = access;
  try {
    // A server refuses a login to a database that is not there.
    const connection = await openMigrationConnection({ ...access, database: '' });
    try {
      const [known] = await connection.query('SELECT 1 FROM `information_schema`.`schemata` WHERE `schema_name` = ?', [
        database,
      ]);
      if (known !== undefined) return false;
      refuseLacking(connection.dialect, 'create database');
      await connection.run(`CREATE DATABASE IF NOT EXISTS ${quoted(database)} CHARACTER SET utf8mb4`);
      return true;
    } finally {
      connection.close();
    }
  } catch (error) {
    throw translateMysqlError(error, access);
  }
}
