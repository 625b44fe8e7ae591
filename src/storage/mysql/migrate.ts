// Brings a database to the schema of this version. MySQL commits each DDL statement by itself, so every statement can
// be run again (IF NOT EXISTS) and the ledger entry is written last: a killed run is simply repeated.
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { CodedError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { translateMysqlError } from './mysql-errors.ts';
import { type MysqlOptions, sslOptions } from './pool.ts';

/** One file of schema/migrations. The name orders and identifies it; the content never changes after a release. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

export class MigrationChangedError extends CodedError {
  constructor(name: string) {
    super(
      'MIGRATION_CHANGED',
      `Migration ${name} was applied with different content. Restore the file of the release that applied it; ` +
        'changes belong in a new migration.',
    );
  }
}

export class SchemaNewerError extends CodedError {
  constructor(unknown: readonly string[]) {
    super(
      'SCHEMA_NEWER',
      `The database has migrations that this version does not know: ${unknown.join(', ')}. ` +
        'Run the newer version of the program; downgrades of the schema are not possible.',
    );
  }
}

export class MigrationLockedError extends CodedError {
  constructor() {
    super(
      'MIGRATION_LOCKED',
      'Another migration is running on this database. Wait for it, then run the command again.',
      {
        retry: 'yes',
      },
    );
  }
}

const LEDGER =
  'CREATE TABLE IF NOT EXISTS `ingester_migrations` (`name` VARCHAR(128) NOT NULL, `checksum` CHAR(64) NOT NULL, ' +
  '`applied_at` DATETIME(6) NOT NULL, PRIMARY KEY (`name`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';
const LOCK_NAME = 'michelangelo-ingester-migrations';
const LOCK_WAIT_SECONDS = 30;

/**
 * Applies what is missing, in the given order, and returns the names applied. A database with a migration whose name is
 * not in `known` was migrated by a newer version and is left alone.
 */
export async function migrate(
  options: Pick<MysqlOptions, 'host' | 'port' | 'user' | 'password' | 'database' | 'tls'>,
  migrations: readonly Migration[],
  known: readonly string[],
): Promise<readonly string[]> {
  let connection: Connection | undefined;
  try {
    const { host, port, user, password, database } = options;
    const access = { host, port, user, password, database, ...sslOptions(options) };
    connection = await createConnection({ ...access, charset: 'utf8mb4_bin' });
    await lock(connection);
    return await applyMissing(connection, migrations, known);
  } catch (error) {
    throw error instanceof CodedError ? error : translateMysqlError(error, options.database);
  } finally {
    // Closing the connection releases the lock.
    connection?.destroy();
  }
}

async function lock(connection: Connection): Promise<void> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT GET_LOCK(?, ?) AS acquired', [
    LOCK_NAME,
    LOCK_WAIT_SECONDS,
  ]);
  if (Number(rows[0]?.['acquired']) !== 1) throw new MigrationLockedError();
}

async function applyMissing(
  connection: Connection,
  migrations: readonly Migration[],
  known: readonly string[],
): Promise<readonly string[]> {
  await connection.query(LEDGER);
  const applied = await readLedger(connection);
  const unknown = [...applied.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new SchemaNewerError(unknown);
  const done: string[] = [];
  for (const migration of migrations) {
    const checksum = sha256Hex(migration.sql);
    const before = applied.get(migration.name);
    if (before !== undefined && before !== checksum) throw new MigrationChangedError(migration.name);
    if (before !== undefined) continue;
    await apply(connection, migration, checksum);
    done.push(migration.name);
  }
  return done;
}

async function readLedger(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT `name`, `checksum` FROM `ingester_migrations`');
  return new Map(rows.map((row) => [String(row['name']), String(row['checksum'])]));
}

async function apply(connection: Connection, migration: Migration, checksum: string): Promise<void> {
  for (const statement of statementsOf(migration.sql)) await connection.query(statement);
  await connection.query(
    'INSERT INTO `ingester_migrations` (`name`, `checksum`, `applied_at`) VALUES (?, ?, UTC_TIMESTAMP(6))',
    [migration.name, checksum],
  );
}

/** Statements of a migration file: comments are whole lines, and a semicolon ends a line only where a statement ends. */
export function statementsOf(sql: string): readonly string[] {
  return sql
    .replace(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}
