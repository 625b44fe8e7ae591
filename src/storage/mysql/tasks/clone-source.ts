// The database that is copied, as it was at one moment. Its session can read and nothing else.
import type { KindDefinition } from '../../../api/kind.ts';
import { CodedError } from '../../../base/errors.ts';
import type { TableNames } from '../../../kinds/kind-names.ts';
import { kindsNamed } from '../../../kinds/kinds.ts';
import { SchemaNewerError, StorageSchemaMissingError } from '../../errors.ts';
import { type SchemaRange, supportedSchema } from '../../schema-range.ts';
import type { MysqlAccess } from '../access.ts';
import { refuseLacking } from '../dialect.ts';
import { readGate } from '../gate.ts';
import { translateMysqlError } from '../mysql-errors.ts';
import type { SqlRow } from '../pool.ts';
import { pageEnd } from '../read/page-end.ts';
import { readLedger } from '../schema/ledger.ts';
import { type MigrationConnection, openMigrationConnection } from './migration-connection.ts';

/** Said before anything is changed. */
export class CloneRefusedError extends CodedError {
  constructor(why: string) {
    super('CLONE_REFUSED', `Nothing was copied: ${why}.`);
  }
}

export interface SourcePage {
  readonly columns: readonly string[];
  readonly rows: readonly SqlRow[];
}

const PAGE_ROWS = 50;

export class CloneSource {
  readonly #connection: MigrationConnection;
  readonly #tableNames: TableNames;
  readonly range: SchemaRange;
  readonly migrations: ReadonlySet<string>;
  /** Says which server and database it is; equal for the same. */
  readonly identity: string;

  private constructor(connection: MigrationConnection, facts: SourceFacts) {
    this.#connection = connection;
    this.#tableNames = facts.tableNames;
    this.range = facts.range;
    this.migrations = facts.migrations;
    this.identity = facts.identity;
  }

  static async open(access: MysqlAccess): Promise<CloneSource> {
    const connection = await openMigrationConnection(access).catch((error: unknown) => {
      throw translateMysqlError(error, access, 'clone');
    });
    try {
      refuseLacking(connection.dialect, 'clone');
      await connection.run('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await connection.run('SET SESSION TRANSACTION READ ONLY');
      await connection.run('START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT');
      return new CloneSource(connection, await factsOf(connection));
    } catch (error) {
      connection.close();
      throw translateMysqlError(error, access, 'clone');
    }
  }

  close(): void {
    this.#connection.close();
  }

  /** Whether the source has the tables of the kind. */
  async has(kind: KindDefinition): Promise<boolean> {
    return (await this.#columns(this.#tableOf(kind))).length > 0;
  }

  /** The next objects by uid, with these of their columns that there are; undefined at the end. */
  async page(kind: KindDefinition, after: string, columns: readonly string[]): Promise<SourcePage | undefined> {
    const table = this.#tableOf(kind);
    const present = new Set(await this.#columns(table));
    const wanted = columns.filter((column) => present.has(column));
    const end = await pageEnd(this.#connection, table, after, PAGE_ROWS);
    if (end === undefined) return undefined;
    const rows = await this.#connection.query(
      `SELECT ${wanted.map((column) => `\`${column}\``).join(', ')} FROM \`${table}\` ` +
        'WHERE `uid` > ? AND `uid` <= ? ORDER BY `uid`',
      [after, end],
    );
    return { columns: wanted, rows };
  }

  /** Labels or annotations of the objects. */
  async pairs(
    kind: KindDefinition,
    ending: '_labels' | '_annotations',
    { uids, columns }: { readonly uids: readonly string[]; readonly columns: readonly string[] },
  ): Promise<readonly SqlRow[]> {
    if (uids.length === 0) return [];
    return this.#connection.query(
      `SELECT ${columns.map((column) => `\`${column}\``).join(', ')} FROM \`${this.#tableOf(kind)}${ending}\` ` +
        `WHERE \`obj_uid\` IN (${uids.map(() => '?').join(', ')})`,
      uids,
    );
  }

  #tableOf(kind: KindDefinition): string {
    return kindsNamed([kind.kind], this.#tableNames)[0]?.table ?? kind.table;
  }

  readonly #known = new Map<string, readonly string[]>();

  async #columns(table: string): Promise<readonly string[]> {
    const known = this.#known.get(table);
    if (known !== undefined) return known;
    const rows = await this.#connection.query(
      'SELECT `column_name` FROM `information_schema`.`columns` WHERE `table_schema` = DATABASE() AND `table_name` = ?',
      [table],
    );
    const columns = rows.map(([name]) => String(name));
    this.#known.set(table, columns);
    return columns;
  }
}

interface SourceFacts {
  readonly range: SchemaRange;
  readonly tableNames: TableNames;
  readonly migrations: ReadonlySet<string>;
  readonly identity: string;
}

async function factsOf(connection: MigrationConnection): Promise<SourceFacts> {
  const gate = await readGate(connection);
  if (gate.tableNames === undefined) throw new StorageSchemaMissingError('the source was never migrated');
  if (gate.holder?.startsWith('ingester task ') === true) {
    throw new CloneRefusedError(`the source is being worked on by ${gate.holder}`);
  }
  const { version } = supportedSchema;
  const needed = Math.max(gate.range.minReader, gate.range.minWriter);
  if (needed > version) throw new SchemaNewerError(gate.range.version, needed, version);
  const ledger = await readLedger(connection);
  return {
    range: gate.range,
    tableNames: gate.tableNames,
    migrations: new Set([...ledger.values()].filter(({ applied }) => applied).map(({ name }) => name)),
    identity: await identityOf(connection),
  };
}

export async function identityOf(connection: MigrationConnection): Promise<string> {
  const [row] = await connection.query('SELECT @@hostname, @@port, @@datadir, DATABASE()');
  return (row ?? []).map(String).join(' ');
}
