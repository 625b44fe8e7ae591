// Copies a table inside the server, and sums up what a table holds. Both walk the first column of the primary key in
// ranges, so that no statement is long and no large transaction grows.

import type { SqlSession } from '../pool.ts';
import { quoted } from '../schema/statements.ts';
import type { MigrationConnection } from './migration-connection.ts';

export interface QualifiedTable {
  readonly database: string;
  readonly table: string;
}

/** Rows, and a checksum that does not depend on their order: equal for equal content, whatever the server. */
export interface TableSum {
  readonly rows: number;
  /** 32 hexadecimal digits. */
  readonly checksum: string;
}

export const PAGE_ROWS = 500;

export interface Walk {
  /** Called before each page; throws where the walk must not go on. */
  readonly before: () => Promise<void>;
  /** Told the rows so far. */
  readonly progress: (rows: number) => void;
}

export function qualified({ database, table }: QualifiedTable): string {
  return `${quoted(database)}.${quoted(table)}`;
}

/** `to` is made anew, with the columns and keys of `from`. Returns the rows. */
export async function copyTable(
  connection: MigrationConnection,
  from: QualifiedTable,
  to: QualifiedTable,
  { before, progress }: Walk,
): Promise<number> {
  await connection.run(`DROP TABLE IF EXISTS ${qualified(to)}`);
  await connection.run(`CREATE TABLE ${qualified(to)} LIKE ${qualified(from)}`);
  const columns = (await columnsOf(connection, from)).filter(({ generated }) => !generated);
  const list = columns.map(({ name }) => quoted(name)).join(', ');
  let rows = 0;
  for await (const range of ranges(connection, from)) {
    await connection.transaction(async () => {
      await before();
      rows += await connection.execute(
        `INSERT INTO ${qualified(to)} (${list}) SELECT ${list} FROM ${qualified(from)} WHERE ${range.where}`,
        range.parameters,
      );
    });
    progress(rows);
  }
  return rows;
}

/** Reads every byte of every row. Generated columns follow from the others. */
export async function sumTable(
  connection: MigrationConnection,
  table: QualifiedTable,
  { before, progress }: Walk,
): Promise<TableSum> {
  const columns = (await columnsOf(connection, table)).filter(({ generated }) => !generated);
  const digests = columns.map(({ name }) => `IFNULL(SHA2(${quoted(name)}, 256), '-')`).join(', ');
  const half = (start: number): string =>
    `CAST(BIT_XOR(CAST(CONV(SUBSTR(\`digest\`, ${start}, 16), 16, 10) AS UNSIGNED)) AS CHAR)`;
  const sum = { rows: 0, high: 0n, low: 0n };
  for await (const range of ranges(connection, table)) {
    await before();
    const [row] = await connection.query(
      `SELECT COUNT(*), ${half(1)}, ${half(17)} FROM (SELECT SHA2(CONCAT_WS(',', ${digests}), 256) AS \`digest\` ` +
        `FROM ${qualified(table)} WHERE ${range.where}) AS \`page\``,
      range.parameters,
    );
    const [count, high, low] = row as readonly [unknown, string, string];
    sum.rows += Number(count);
    sum.high ^= BigInt(high);
    sum.low ^= BigInt(low);
    progress(sum.rows);
  }
  const hex = (value: bigint): string => value.toString(16).padStart(16, '0');
  return { rows: sum.rows, checksum: hex(sum.high) + hex(sum.low) };
}

interface Range {
  readonly where: string;
  readonly parameters: readonly string[];
}

/** All rows with the same first key column are in the same range. */
async function* ranges(session: SqlSession, table: QualifiedTable): AsyncGenerator<Range> {
  const key = quoted(await firstKeyColumn(session, table));
  const from = qualified(table);
  let after: string | undefined;
  for (;;) {
    const [where, parameters] = after === undefined ? ['TRUE', []] : [`${key} > ?`, [after]];
    const [bound] = await session.query(
      `SELECT ${key} FROM ${from} WHERE ${where} ORDER BY ${key} LIMIT 1 OFFSET ${PAGE_ROWS - 1}`,
      parameters,
    );
    if (bound === undefined) {
      yield { where, parameters };
      return;
    }
    const last = String(bound[0]);
    yield { where: `${where} AND ${key} <= ?`, parameters: [...parameters, last] };
    after = last;
  }
}

async function firstKeyColumn(session: SqlSession, { database, table }: QualifiedTable): Promise<string> {
  const [row] = await session.query(
    'SELECT `column_name` FROM `information_schema`.`statistics` WHERE `table_schema` = ? AND `table_name` = ? ' +
      "AND `index_name` = 'PRIMARY' AND `seq_in_index` = 1",
    [database, table],
  );
  return String(row?.[0]);
}

interface Column {
  readonly name: string;
  readonly generated: boolean;
}

async function columnsOf(session: SqlSession, { database, table }: QualifiedTable): Promise<readonly Column[]> {
  const rows = await session.query(
    'SELECT `column_name`, `generation_expression` FROM `information_schema`.`columns` ' +
      'WHERE `table_schema` = ? AND `table_name` = ? ORDER BY `ordinal_position`',
    [database, table],
  );
  return rows.map(([name, expression]) => ({
    name: String(name),
    generated: typeof expression === 'string' && expression !== '',
  }));
}
