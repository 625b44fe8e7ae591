// Where snapshots lie: a database of its own on the same server, with one table that describes them and the copied tables
// of each, named after it.
import { CodedError } from '../../../base/errors.ts';
import type { SchemaRange } from '../../schema-range.ts';
import type { SqlSession } from '../pool.ts';
import { quoted } from '../schema/statements.ts';
import { fromSqlTime } from '../sql-time.ts';
import { type QualifiedTable, qualified, type TableSum } from './copy-table.ts';
import type { MigrationConnection } from './migration-connection.ts';

export interface SnapshotTable extends TableSum {
  readonly table: string;
}

/** The metadata of a snapshot. */
export interface Snapshot extends KeptSnapshot {
  readonly reason: string;
  readonly schema: SchemaRange;
  readonly tableNames: string | undefined;
  /** Empty until it is verified. */
  readonly tables: readonly SnapshotTable[];
}

export class SnapshotMissingError extends CodedError {
  constructor(id: string, known: readonly string[]) {
    const list = known.length === 0 ? 'There is none' : `There are: ${known.join(', ')}`;
    super('SNAPSHOT_MISSING', `There is no verified snapshot "${id}". ${list}. See "ingester snapshots list".`);
  }
}

export class SnapshotExistsError extends CodedError {
  constructor(id: string) {
    super(
      'SNAPSHOT_EXISTS',
      `There is a snapshot "${id}" of another state of the database. Choose another --id, or remove it with ` +
        `"ingester snapshots remove ${id}".`,
    );
  }
}

/** A copy differs from what it was made of. It is not used. */
export class SnapshotDamagedError extends CodedError {
  constructor(what: string, tables: readonly string[]) {
    super('SNAPSHOT_DAMAGED', `${what} differs in ${tables.join(', ')}. Nothing was replaced.`);
  }
}

const MANIFEST = 'ingester_snapshots';
const COLUMNS =
  '`id`, `state`, `created_at`, `reason`, `schema_version`, `min_reader`, `min_writer`, `table_names`, `tables`';

export class SnapshotStore {
  readonly #connection: MigrationConnection;
  readonly database: string;

  constructor(connection: MigrationConnection, database: string) {
    this.#connection = connection;
    this.database = database;
  }

  /** Makes the database and its first table where they are missing. */
  async prepare(): Promise<void> {
    const there = await this.#connection.query(
      'SELECT 1 FROM `information_schema`.`tables` WHERE `table_schema` = ? AND `table_name` = ?',
      [this.database, MANIFEST],
    );
    if (there.length > 0) return;
    const [database] = await this.#connection.query(
      'SELECT 1 FROM `information_schema`.`schemata` WHERE `schema_name` = ?',
      [this.database],
    );
    if (database === undefined) {
      await this.#connection.run(`CREATE DATABASE IF NOT EXISTS ${quoted(this.database)} CHARACTER SET utf8mb4`);
    }
    await this.#connection.run(
      `CREATE TABLE IF NOT EXISTS ${this.#manifest} (\`id\` VARCHAR(32) NOT NULL, \`state\` VARCHAR(16) NOT NULL, ` +
        '`created_at` DATETIME(6) NOT NULL, `reason` VARCHAR(1024) NOT NULL, `schema_version` INT UNSIGNED NOT NULL, ' +
        '`min_reader` INT UNSIGNED NOT NULL, `min_writer` INT UNSIGNED NOT NULL, `table_names` VARCHAR(16), ' +
        '`tables` MEDIUMTEXT NOT NULL, PRIMARY KEY (`id`)) ' +
        'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
    );
  }

  /** Oldest first; empty where nothing was ever stored. */
  async list(): Promise<readonly Snapshot[]> {
    const there = await this.#connection.query(
      'SELECT 1 FROM `information_schema`.`tables` WHERE `table_schema` = ? AND `table_name` = ?',
      [this.database, MANIFEST],
    );
    if (there.length === 0) return [];
    const rows = await this.#connection.query(
      `SELECT ${COLUMNS} FROM ${this.#manifest} ORDER BY \`created_at\`, \`id\``,
    );
    return rows.map(toSnapshot);
  }

  async verified(id: string): Promise<Snapshot> {
    const all = await this.list();
    const found = all.find((snapshot) => snapshot.id === id && snapshot.state === 'verified');
    if (found !== undefined) return found;
    const known = all.filter(({ state }) => state === 'verified').map((snapshot) => snapshot.id);
    throw new SnapshotMissingError(id, known);
  }

  async begin(session: SqlSession, snapshot: Omit<Snapshot, 'createdAt' | 'state' | 'tables'>): Promise<void> {
    const { id, reason, schema, tableNames } = snapshot;
    await session.execute(
      `INSERT INTO ${this.#manifest} (${COLUMNS}) VALUES (?, 'creating', UTC_TIMESTAMP(6), ?, ?, ?, ?, ?, '[]')`,
      [id, reason.slice(0, 1024), schema.version, schema.minReader, schema.minWriter, tableNames ?? null],
    );
  }

  async finish(session: SqlSession, id: string, tables: readonly SnapshotTable[]): Promise<void> {
    await session.execute(`UPDATE ${this.#manifest} SET \`state\` = 'verified', \`tables\` = ? WHERE \`id\` = ?`, [
      JSON.stringify(tables),
      id,
    ]);
  }

  /** The description goes first, so that a snapshot with missing tables is never taken for a whole one. */
  async drop(id: string): Promise<void> {
    await this.#connection.execute(`DELETE FROM ${this.#manifest} WHERE \`id\` = ?`, [id]);
    const rows = await this.#connection.query(
      'SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = ? AND LEFT(`table_name`, ?) = ?',
      [this.database, id.length + 2, `${id}__`],
    );
    for (const [table] of rows) {
      await this.#connection.run(
        `DROP TABLE IF EXISTS ${qualified({ database: this.database, table: String(table) })}`,
      );
    }
  }

  tableOf(id: string, table: string): QualifiedTable {
    return { database: this.database, table: `${id}__${table}` };
  }

  get #manifest(): string {
    return qualified({ database: this.database, table: MANIFEST });
  }
}

function toSnapshot(row: readonly unknown[]): Snapshot {
  const [id, state, createdAt, reason, version, minReader, minWriter, tableNames, tables] = row;
  return {
    id: id as string,
    state: state as Snapshot['state'],
    createdAt: fromSqlTime(createdAt as string),
    reason: reason as string,
    schema: { version: Number(version), minReader: Number(minReader), minWriter: Number(minWriter) },
    tableNames: typeof tableNames === 'string' ? tableNames : undefined,
    tables: JSON.parse(tables as string) as readonly SnapshotTable[],
  };
}

// Which snapshots may go.

export interface KeptSnapshot {
  readonly id: string;
  /** RFC 3339, always with the same number of digits. */
  readonly createdAt: string;
  readonly state: 'creating' | 'verified';
}

export interface Retention {
  /** How many verified snapshots stay, at least. */
  readonly keep: number;
  /** Snapshots that a user may still want to restore. */
  readonly referenced: readonly string[];
}

/**
 * Oldest first. Never one that is referenced, never the newest verified one, and never one that is not verified: that
 * may be under way, and its own task clears it up.
 */
export function expendable(snapshots: readonly KeptSnapshot[], { keep, referenced }: Retention): readonly string[] {
  const verified = snapshots
    .filter(({ state }) => state === 'verified')
    .sort((one, other) => (one.createdAt + one.id < other.createdAt + other.id ? -1 : 1));
  const candidates = verified.slice(0, -Math.max(1, keep)).map(({ id }) => id);
  return candidates.filter((id) => !referenced.includes(id));
}
