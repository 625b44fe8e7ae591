// Copies another metadata database into this one. The source is read at one moment by a session that cannot write; a run
// that was cut short lost that moment, so the next one begins anew.
import type { KindDefinition } from '../../../api/kind.ts';
import { sleep } from '../../../base/clock.ts';
import { CodedError, messageOf } from '../../../base/errors.ts';
import type { TableNames, TableNamesSetting } from '../../../kinds/kind-names.ts';
import { kindUnder } from '../../../kinds/kinds.ts';
import { rowStates } from '../../row.ts';
import type { MysqlAccess } from '../access.ts';
import { readGate } from '../gate.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { enter, forget } from '../schema/ledger.ts';
import { migrationsFor } from '../schema/migration-files.ts';
import { ownTables } from '../schema/own-tables.ts';
import { resolveTableNames } from '../schema/table-naming.ts';
import { toSqlTime } from '../sql-time.ts';
import { CloneRefusedError, CloneSource, identityOf } from './clone-source.ts';
import { attemptOf, type Exclusive, type ExclusiveTask, exclusively } from './exclusive-task.ts';
import { withGateClosed } from './gate-control.ts';
import { type MigrateOptions, migrateWithin } from './migrate.ts';
import type { ResealedRow, SealedRow } from './rotate.ts';
import type { WholeTaskOptions } from './snapshot.ts';

export interface CloneOptions extends WholeTaskOptions {
  readonly source: MysqlAccess;
  /** Whose objects are copied, under the names of our tables. */
  readonly kinds: readonly KindDefinition[];
  readonly tableNames: TableNamesSetting;
  readonly excludeNamespaces: readonly string[];
  readonly liveRows: 'evicted' | 'as-stored';
  readonly reseal: (kind: KindDefinition, row: SealedRow) => ResealedRow | undefined;
  /** Statements that run on the copy. */
  readonly postSql: readonly string[];
  /** 0: no limit. */
  readonly rowsPerSecond: number;
  /** Whether rows that are here may go. */
  readonly replace: 'refuse' | 'replace';
  readonly gateTimeoutMs: number;
  /** For a database that has no tables yet. */
  readonly migrate: MigrateOptions;
}

export interface CloneReport {
  /** Copied objects by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Objects in namespaces that were left out. */
  readonly excluded: number;
  /** Objects whose sensitive values were sealed anew, or masked where no key is configured. */
  readonly resealed: number;
  /** Objects that were in the source's cluster and are evicted here. */
  readonly evicted: number;
  readonly postSql: number;
  readonly schema: number;
}

/** The task would copy values that this installation has no key to read. */
export class CloneUnreadableError extends CodedError {
  constructor(problems: readonly string[]) {
    super(
      'CLONE_UNREADABLE',
      `Nothing was copied: sealed values of the source cannot be opened.\n${problems.join('\n')}\n` +
        'Give the keys of the source as clone.keyFile, or leave these kinds out.',
    );
  }
}

const HOLDER = 'ingester task clone';
const LEDGER_ENTRY = 'clone unfinished';
const MOST_PROBLEMS = 10;
const DELETE_ROWS = 1000;

export async function cloneDatabase(options: CloneOptions): Promise<CloneReport> {
  const task: ExclusiveTask = {
    access: options.mysql,
    ...attemptOf('clone', options.attempt),
    tables: 'create',
    needs: 'clone',
  };
  const { result } = await exclusively(task, async (exclusive) => {
    const source = await CloneSource.open(options.source);
    try {
      return await cloneFrom(source, exclusive, options);
    } finally {
      source.close();
    }
  });
  return result;
}

type NamedOptions = CloneOptions & { readonly tableNames: TableNames };

async function cloneFrom(source: CloneSource, exclusive: Exclusive, asked: CloneOptions): Promise<CloneReport> {
  const { connection } = exclusive;
  const tableNames = await resolveTableNames(connection, asked.tableNames);
  const migrate = { ...asked.migrate, tableNames };
  const options = { ...asked, tableNames, migrate, kinds: asked.kinds.map((kind) => kindUnder(kind, tableNames)) };
  if (source.identity === (await identityOf(connection))) {
    throw new CloneRefusedError('source and target are the same database');
  }
  options.progress('looking whether every sealed value of the source can be opened');
  await refuseUnreadable(source, options);
  await prepareSchema(source, exclusive, options);
  await refuseData(exclusive, options);
  const closed = { ...options, holder: HOLDER, reason: 'its content is being replaced by a copy' };
  return withGateClosed(exclusive, closed, async (open) => {
    const report = await replaceContent(source, exclusive, options);
    await exclusive.complete(report, async (session) => {
      await forget(session, LEDGER_ENTRY);
      await open(session);
    });
    return report;
  });
}

/** The copy has the source's schema; `task migrate` brings it to ours, rows included. */
async function prepareSchema(source: CloneSource, exclusive: Exclusive, options: NamedOptions): Promise<void> {
  const known = migrationsFor(options.migrate.kinds, options.tableNames);
  const migrations = known.filter(({ name, version }) => version === undefined || source.migrations.has(name));
  // A run that was killed left the gate closed, to this one.
  const gateHolder = options.gateHolder ?? HOLDER;
  await migrateWithin(exclusive, { ...options.migrate, gateHolder, migrations });
  const { range } = await readGate(exclusive.connection);
  if (range.version === source.range.version) return;
  throw new CloneRefusedError(
    `the source has schema ${source.range.version} and this database ${range.version}. Migrate the source, or clone into ` +
      'an empty database',
  );
}

async function refuseData({ connection }: Exclusive, { mysql, tableNames, replace }: NamedOptions): Promise<void> {
  const unfinished = await connection.query('SELECT 1 FROM `ingester_migrations` WHERE `name` = ?', [LEDGER_ENTRY]);
  if (replace === 'replace' || unfinished.length > 0) return;
  for (const table of await dataTables(connection, tableNames)) {
    const [row] = await connection.query(`SELECT 1 FROM \`${table}\` LIMIT 1`);
    if (row === undefined) continue;
    throw new CloneRefusedError(
      `the database ${mysql.database} holds data (${table}). Add --replace-data-of ${mysql.database} if all of it may go`,
    );
  }
}

async function dataTables(connection: Exclusive['connection'], names: TableNames): Promise<readonly string[]> {
  return (await ownTables(connection, names)).filter((table) => !table.startsWith('ingester_'));
}

/** Every sealed value is opened once before anything is changed. */
async function refuseUnreadable(source: CloneSource, options: NamedOptions): Promise<void> {
  const problems: string[] = [];
  for (const kind of options.kinds.filter(({ sensitive }) => sensitive.length > 0)) {
    for await (const { columns, rows } of pagesOf(source, kind, ['uid', 'namespace', 'json', 'proto'])) {
      options.signal.throwIfAborted();
      for (const row of rows) {
        const values = named(columns, row);
        if (options.excludeNamespaces.includes(String(values.get('namespace')))) continue;
        const problem = problemOf(() => options.reseal(kind, sealedOf(values)));
        if (problem !== undefined) problems.push(problem);
      }
      if (problems.length >= MOST_PROBLEMS) throw new CloneUnreadableError(problems.slice(0, MOST_PROBLEMS));
    }
  }
  if (problems.length > 0) throw new CloneUnreadableError(problems);
}

function problemOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return messageOf(error);
  }
}

async function* pagesOf(
  source: CloneSource,
  kind: KindDefinition,
  columns: readonly string[],
): AsyncGenerator<{ readonly columns: readonly string[]; readonly rows: readonly SqlRow[] }> {
  if (!(await source.has(kind))) return;
  let after = '';
  for (;;) {
    const page = await source.page(kind, after, columns);
    if (page === undefined) return;
    yield page;
    after = String(page.rows.at(-1)?.[page.columns.indexOf('uid')]);
  }
}

type Values = Map<string, SqlParameter>;

function named(columns: readonly string[], row: SqlRow): Values {
  return new Map(columns.map((column, index) => [column, row[index] as SqlParameter]));
}

function sealedOf(values: Values): SealedRow {
  return { json: String(values.get('json')), proto: values.get('proto') as Uint8Array };
}

async function replaceContent(source: CloneSource, exclusive: Exclusive, options: NamedOptions): Promise<CloneReport> {
  const { connection, pass } = exclusive;
  await connection.transaction(async () => {
    await pass(connection);
    await enter(connection, LEDGER_ENTRY, '');
  });
  const tables = await dataTables(connection, options.tableNames);
  for (const table of [...tables, 'ingester_positions']) await empty(exclusive, table, options);
  const copy = new Copy(source, exclusive, options);
  for (const kind of options.kinds) await copy.kind(kind);
  for (const statement of options.postSql) {
    options.signal.throwIfAborted();
    await pass(connection);
    await connection.run(statement);
  }
  return { ...copy.report, postSql: options.postSql.length, schema: source.range.version };
}

async function empty({ connection, pass }: Exclusive, table: string, { signal }: NamedOptions): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const gone = await connection.transaction(async () => {
      await pass(connection);
      return connection.execute(`DELETE FROM \`${table}\` LIMIT ${DELETE_ROWS}`);
    });
    if (gone < DELETE_ROWS) return;
  }
}

const LABEL_COLUMNS = ['obj_uid', 'key', 'value', 'obj_create_time'];
const ANNOTATION_COLUMNS = ['obj_uid', 'key', 'value'];
const PROGRESS_ROWS = 5000;

class Copy {
  readonly #source: CloneSource;
  readonly #exclusive: Exclusive;
  readonly #options: NamedOptions;
  readonly #rows: Record<string, number> = {};
  readonly #counts = { excluded: 0, resealed: 0, evicted: 0 };

  constructor(source: CloneSource, exclusive: Exclusive, options: NamedOptions) {
    this.#source = source;
    this.#exclusive = exclusive;
    this.#options = options;
  }

  get report(): Pick<CloneReport, 'rows' | 'excluded' | 'resealed' | 'evicted'> {
    return { rows: this.#rows, ...this.#counts };
  }

  async kind(kind: KindDefinition): Promise<void> {
    const { signal, progress, clock, rowsPerSecond } = this.#options;
    let copied = 0;
    for await (const { columns, rows } of pagesOf(this.#source, kind, await this.#columnsOf(kind.table))) {
      signal.throwIfAborted();
      const began = clock.monotonicMs();
      const wanted = rows.map((row) => named(columns, row)).filter((values) => this.#isWanted(values));
      await this.#write(kind, columns, wanted);
      copied += wanted.length;
      if (copied % PROGRESS_ROWS < rows.length) progress(`${kind.table}: ${copied} objects copied`);
      if (rowsPerSecond === 0) continue;
      await sleep(clock, (rows.length * 1000) / rowsPerSecond - (clock.monotonicMs() - began), signal);
    }
    this.#rows[kind.table] = copied;
  }

  #isWanted(values: Values): boolean {
    const isExcluded = this.#options.excludeNamespaces.includes(String(values.get('namespace')));
    if (isExcluded) this.#counts.excluded += 1;
    return !isExcluded;
  }

  /** A page is one transaction: objects with their labels and annotations. */
  async #write(kind: KindDefinition, columns: readonly string[], rows: readonly Values[]): Promise<void> {
    const { connection, pass } = this.#exclusive;
    const uids = rows.map((values) => String(values.get('uid')));
    const labels = await this.#source.pairs(kind, '_labels', { uids, columns: LABEL_COLUMNS });
    const annotations = await this.#source.pairs(kind, '_annotations', { uids, columns: ANNOTATION_COLUMNS });
    const objects = rows
      .map((values) => this.#convert(kind, values))
      .map((values) => columns.map((c) => values.get(c)));
    await connection.transaction(async () => {
      await pass(connection);
      await insertRows(connection, kind.table, { columns, rows: objects });
      await insertRows(connection, `${kind.table}_labels`, { columns: LABEL_COLUMNS, rows: labels });
      await insertRows(connection, `${kind.table}_annotations`, { columns: ANNOTATION_COLUMNS, rows: annotations });
    });
  }

  #convert(kind: KindDefinition, values: Values): Values {
    const resealed = kind.sensitive.length === 0 ? undefined : this.#options.reseal(kind, sealedOf(values));
    if (resealed !== undefined) {
      this.#counts.resealed += 1;
      values.set('json', resealed.json).set('proto', resealed.proto).set('content_hash', resealed.contentHash);
    }
    if (this.#options.liveRows === 'evicted' && Number(values.get('row_state')) < rowStates.indexOf('deleted')) {
      this.#counts.evicted += 1;
      const now = toSqlTime(this.#options.clock.now().toISOString());
      values.set('row_state', rowStates.indexOf('evicted')).set('evict_time', now);
      if (values.get('evict_request_time') === null) values.set('evict_request_time', now);
    }
    return values;
  }

  async #columnsOf(table: string): Promise<readonly string[]> {
    const rows = await this.#exclusive.connection.query(
      'SELECT `column_name`, `generation_expression` FROM `information_schema`.`columns` ' +
        'WHERE `table_schema` = DATABASE() AND `table_name` = ? ORDER BY `ordinal_position`',
      [table],
    );
    return rows.filter(([, expression]) => expression === null || expression === '').map(([name]) => String(name));
  }
}

// Many rows by few statements, none of them larger than the server accepts.
export interface RowsToInsert {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Bytes are sent as hexadecimal text, and texts may have signs before them. */
const GROWTH = 2;
const ROW_OVERHEAD = 64;

export async function insertRows(session: SqlSession, table: string, { columns, rows }: RowsToInsert): Promise<void> {
  const list = columns.map((column) => `\`${column}\``).join(', ');
  const place = `(${columns.map(() => '?').join(', ')})`;
  const most = session.maxPacketBytes / 2;
  for (let start = 0; start < rows.length; ) {
    let [end, bytes] = [start, 0];
    while (end < rows.length && (end === start || bytes + bytesOf(rows[end] ?? []) < most)) {
      bytes += bytesOf(rows[end] ?? []);
      end += 1;
    }
    const some = rows.slice(start, end);
    await session.execute(
      `INSERT INTO \`${table}\` (${list}) VALUES ${some.map(() => place).join(', ')}`,
      some.flat() as SqlParameter[],
    );
    start = end;
  }
}

function bytesOf(row: readonly unknown[]): number {
  return row.reduce<number>((sum, value) => sum + ROW_OVERHEAD + GROWTH * sizeOf(value), 0);
}

function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  return typeof value === 'string' ? Buffer.byteLength(value) : 8;
}
