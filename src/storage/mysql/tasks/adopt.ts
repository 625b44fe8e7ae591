// Tables of the original become ours, with every row: widen, fill in what is new, then say NOT NULL and set the keys.
import type { KindDefinition } from '../../../api/kind.ts';
import { LAST_APPLIED_ANNOTATION } from '../../../api/names.ts';
import { CodedError } from '../../../base/errors.ts';
import type { ReadOriginal } from '../../original.ts';
import type { SqlSession } from '../pool.ts';
import { isOwn } from '../schema/own-tables.ts';
import { readTables, type TableShape } from '../schema/table-shape.ts';
import { NO_TIME } from '../schema/tables.ts';
import { planAdoption } from './adoption-plan.ts';
import type { MigrationConnection } from './migration-connection.ts';
import { fillPage, hasForeign } from './original-rows.ts';
import { type BackfillHost, type Page, runBackfill } from './table-walk.ts';

export interface AdoptedTable {
  readonly table: string;
  /** Rows filled in by this run. */
  readonly rows: number;
}

export interface AdoptionReport {
  readonly tables: readonly AdoptedTable[];
  /** What the operator should know: nothing was lost, but something is not as expected. */
  readonly warnings: readonly string[];
}

export interface AdoptionHost extends BackfillHost {
  readonly connection: MigrationConnection;
  readonly kinds: readonly KindDefinition[];
  readonly readOriginal: ReadOriginal;
  readonly progress: (line: string) => void;
}

/** The tables in the database cannot become our schema without an operator's decision. Nothing was changed. */
class AdoptionRefusedError extends CodedError {
  constructor(problems: readonly string[]) {
    super('ADOPTION_REFUSED', `The existing tables cannot be adopted; nothing was changed:\n${problems.join('\n')}`);
  }
}

/** Tables that stand there in another shape than the statements would give them. Empty for a database of our own. */
export function tablesToAdopt(
  wanted: readonly TableShape[],
  existing: ReadonlyMap<string, TableShape>,
): readonly (readonly [TableShape, TableShape])[] {
  return wanted.flatMap((shape) => {
    const found = existing.get(shape.name);
    if (found === undefined) return [];
    const plan = planAdoption(found, shape);
    return plan.problems.length + plan.expand.length + plan.contract.length === 0 ? [] : [[found, shape] as const];
  });
}

/** All that stands in the way of all tables, before anything is changed. */
export function refuseProblems(
  tables: readonly (readonly [TableShape, TableShape])[],
  others: readonly string[] = [],
): void {
  const problems = [...others, ...tables.flatMap(([found, shape]) => planAdoption(found, shape).problems)];
  if (problems.length > 0) throw new AdoptionRefusedError(problems);
}

export async function adoptTables(
  tables: readonly (readonly [TableShape, TableShape])[],
  host: AdoptionHost,
): Promise<AdoptionReport> {
  const adopted: AdoptedTable[] = [];
  const warnings: string[] = [];
  for (const [found, wanted] of tables) {
    host.progress(`adopting ${wanted.name}`);
    const plan = planAdoption(found, wanted);
    for (const statement of [...plan.prepare, ...plan.expand]) await host.connection.run(statement);
    const filled = await fill(wanted, host);
    warnings.push(...filled.warnings);
    // The plan for what is there now: a run that was killed comes here with the first half done.
    const now = (await readTables(host.connection)).get(wanted.name) ?? found;
    for (const statement of planAdoption(now, wanted).contract) await host.connection.run(statement);
    adopted.push({ table: wanted.name, rows: filled.rows });
  }
  return { tables: adopted, warnings };
}

interface Filled {
  readonly rows: number;
  readonly warnings: readonly string[];
}

async function fill(wanted: TableShape, host: AdoptionHost): Promise<Filled> {
  const kind = host.kinds.find(({ table }) => table === wanted.name);
  if (kind === undefined) return fillPairs(wanted.name, host);
  const { readOriginal } = host;
  const rows = await runBackfill(
    {
      name: `adopt ${kind.table}`,
      page: (session, after) => fillPage(session, { kind, readOriginal, labels: 'of the original' }, after),
      progress: (done) => host.progress(`${kind.table}: ${done} rows filled in`),
    },
    host,
  );
  return { rows, warnings: await sharedNames(host.connection, kind) };
}

/** Rows of tables that are ours, which the original wrote since: after a time of going back to it, or beside it. */
export async function takeOverRows(host: AdoptionHost): Promise<readonly AdoptedTable[]> {
  const { readOriginal } = host;
  const tables = await readTables(host.connection);
  const taken: AdoptedTable[] = [];
  for (const kind of host.kinds.filter(({ table }) => isOwn(tables.get(table)))) {
    if (!(await hasForeign(host.connection, kind))) continue;
    const rows = await runBackfill(
      {
        name: `take over ${kind.table}`,
        page: (session, after) => fillPage(session, { kind, readOriginal, labels: 'ours' }, after),
        progress: (done) => host.progress(`${kind.table}: ${done} rows of the original taken over`),
      },
      host,
    );
    if (rows > 0) taken.push({ table: kind.table, rows });
  }
  return taken;
}

async function fillPairs(table: string, host: AdoptionHost): Promise<Filled> {
  const { connection } = host;
  await connection.run(`UPDATE \`${table}\` SET \`value\` = '' WHERE \`value\` IS NULL`);
  const moved = await moveDuplicates(connection, table);
  if (table.endsWith('_labels')) {
    const progress = (done: number): void => host.progress(`${table}: ${done} objects filled in`);
    await runBackfill(
      { name: `adopt ${table}`, page: (session, after) => fillLabels(session, table, after), progress },
      host,
    );
  }
  const warning = `${table}: ${moved} rows repeated the key of another; the newest stays, the others are in ingester_duplicates`;
  return { rows: 0, warnings: moved === 0 ? [] : [warning] };
}

const MOST_NAMES = 5;

/** Two living rows of one name are two objects of which one was replaced unseen. Both stay; the newest is found by name. */
async function sharedNames(session: SqlSession, { table }: KindDefinition): Promise<readonly string[]> {
  const rows = await session.query(
    `SELECT \`namespace\`, \`name\`, COUNT(*) FROM \`${table}\` WHERE \`delete_time\` IS NULL ` +
      'GROUP BY `namespace`, `name` HAVING COUNT(*) > 1 ORDER BY `namespace`, `name`',
  );
  if (rows.length === 0) return [];
  const some = rows.slice(0, MOST_NAMES).map((row) => `${String(row[0])}/${String(row[1])} (${Number(row[2])})`);
  const more = rows.length > MOST_NAMES ? ', …' : '';
  return [`${table}: ${rows.length} names have several rows that are not deleted: ${some.join(', ')}${more}`];
}

const PAGE_OBJECTS = 500;

/** Labels know when their object was created; those the original left behind without an object get the oldest time. */
export async function fillLabels(
  session: SqlSession,
  table: string,
  after: string | undefined,
): Promise<Page | undefined> {
  const rows = await session.query(
    `SELECT DISTINCT \`obj_uid\` FROM \`${table}\` WHERE \`obj_uid\` > ? AND \`obj_create_time\` IS NULL ` +
      `ORDER BY \`obj_uid\` LIMIT ${PAGE_OBJECTS}`,
    [after ?? ''],
  );
  const uids = rows.map(([uid]) => String(uid));
  const last = uids.at(-1);
  if (last === undefined) return after === undefined ? undefined : fillLabels(session, table, undefined);
  const main = table.replace(/_labels$/, '');
  await session.execute(
    `UPDATE \`${table}\` \`l\` LEFT JOIN \`${main}\` \`m\` ON \`m\`.\`uid\` = \`l\`.\`obj_uid\` ` +
      `SET \`l\`.\`obj_create_time\` = COALESCE(\`m\`.\`create_time\`, ?) WHERE \`l\`.\`obj_uid\` IN (${uids.map(() => '?').join(', ')})`,
    [NO_TIME, ...uids],
  );
  return { rows: uids.length, last };
}

// The original deletes and inserts all labels of an object without a key that would refuse two of the same: two writers
// at once leave both. One of them has to go before (obj_uid, key) can be the primary key, but nothing is thrown away.

const createDuplicates =
  'CREATE TABLE IF NOT EXISTS `ingester_duplicates` (\n' +
  '  `table_name` VARCHAR(64) NOT NULL,\n' +
  '  `obj_uid` VARCHAR(255) NOT NULL,\n' +
  '  `key` VARCHAR(317) NOT NULL,\n' +
  '  `ordinal` INT UNSIGNED NOT NULL,\n' +
  '  `value` LONGTEXT,\n' +
  '  `moved_at` DATETIME(6) NOT NULL,\n' +
  '  PRIMARY KEY (`table_name`, `obj_uid`, `key`, `ordinal`)\n' +
  ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

const PAGE = 200;

/** Returns how many were moved. Each is moved in one transaction, so a killed run neither loses nor doubles any. */
async function moveDuplicates(connection: MigrationConnection, table: string): Promise<number> {
  await dropLastApplied(connection, table);
  let moved = 0;
  for (;;) {
    const repeated = await connection.query(
      `SELECT \`obj_uid\`, \`key\` FROM \`${table}\` GROUP BY \`obj_uid\`, \`key\` HAVING COUNT(*) > 1 LIMIT ${PAGE}`,
    );
    if (repeated.length === 0) return moved;
    await connection.run(createDuplicates);
    for (const [uid, key] of repeated) {
      moved += await connection.transaction(() => moveOne(connection, table, String(uid), String(key)));
    }
  }
}

/** kubectl's copy of the manifest repeats what is secret; no row keeps it. */
async function dropLastApplied(session: SqlSession, table: string): Promise<void> {
  if (!table.endsWith('_annotations')) return;
  await session.execute(`DELETE FROM \`${table}\` WHERE \`key\` = ?`, [LAST_APPLIED_ANNOTATION]);
}

/** The row with the highest number was written last. */
async function moveOne(session: SqlSession, table: string, uid: string, key: string): Promise<number> {
  const rows = await session.query(
    `SELECT \`id\`, \`value\` FROM \`${table}\` WHERE \`obj_uid\` = ? AND \`key\` = ? ORDER BY \`id\` DESC FOR UPDATE`,
    [uid, key],
  );
  const surplus = rows.slice(1);
  for (const [ordinal, [id, value]] of surplus.entries()) {
    await session.execute(
      'INSERT INTO `ingester_duplicates` (`table_name`, `obj_uid`, `key`, `ordinal`, `value`, `moved_at`) ' +
        'VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))',
      [table, uid, key, ordinal, value as string | null],
    );
    await session.execute(`DELETE FROM \`${table}\` WHERE \`id\` = ?`, [id as string]);
  }
  return surplus.length;
}
