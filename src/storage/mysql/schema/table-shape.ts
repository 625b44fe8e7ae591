// What a table looks like: as the server describes it, and as one of our CREATE TABLE statements wants it.
import type { SqlSession } from '../pool.ts';
import { parseSqlType, type SqlType } from './sql-type.ts';

export interface ColumnShape {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable: boolean;
  /** Of text, else undefined. */
  readonly collation: string | undefined;
  /** A row can be inserted without naming it. */
  readonly fillsItself: boolean;
  readonly autoIncrement: boolean;
}

export interface KeyShape {
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly string[];
}

export interface TableShape {
  readonly name: string;
  readonly engine: string;
  readonly columns: readonly ColumnShape[];
  /** The primary key is called PRIMARY. */
  readonly keys: readonly KeyShape[];
}

/** All tables of the database, by name. */
export async function readTables(session: SqlSession): Promise<ReadonlyMap<string, TableShape>> {
  const here = '`table_schema` = DATABASE()';
  const tables = await session.query(
    `SELECT \`table_name\`, \`engine\` FROM \`information_schema\`.\`tables\` WHERE ${here}`,
  );
  const columns = await session.query(
    'SELECT `table_name`, `column_name`, `column_type`, `is_nullable`, `collation_name`, `column_default`, `extra` ' +
      `FROM \`information_schema\`.\`columns\` WHERE ${here} ORDER BY \`table_name\`, \`ordinal_position\``,
  );
  const keys = await session.query(
    'SELECT `table_name`, `index_name`, `non_unique`, `column_name`, `sub_part` ' +
      `FROM \`information_schema\`.\`statistics\` WHERE ${here} ORDER BY \`table_name\`, \`index_name\`, \`seq_in_index\``,
  );
  const columnsOf = Map.groupBy(columns, ([table]) => String(table));
  const keysOf = Map.groupBy(keys, ([table]) => String(table));
  return new Map(
    tables.map(([table, engine]) => {
      const name = String(table);
      const shape = { name, engine: String(engine), columns: (columnsOf.get(name) ?? []).map(toColumn) };
      return [name, { ...shape, keys: toKeys(keysOf.get(name) ?? []) }];
    }),
  );
}

function toColumn([, name, type, nullable, collation, defaultValue, extra]: readonly unknown[]): ColumnShape {
  const autoIncrement = String(extra).includes('auto_increment');
  return {
    name: String(name),
    type: parseSqlType(String(type)),
    nullable: nullable === 'YES',
    collation: typeof collation === 'string' ? collation : undefined,
    fillsItself: nullable === 'YES' || defaultValue !== null || autoIncrement || String(extra).includes('GENERATED'),
    autoIncrement,
  };
}

/** A part of a column is written as column(length): such a key is none of ours. */
function toKeys(rows: readonly (readonly unknown[])[]): readonly KeyShape[] {
  return [...Map.groupBy(rows, ([, name]) => String(name))].map(([name, parts]) => ({
    name,
    unique: Number(parts[0]?.[2]) === 0,
    columns: parts.map(([, , , column, length]) => String(column) + (length === null ? '' : `(${Number(length)})`)),
  }));
}

/** The form of `createTable` in tables.ts; undefined for any other statement. */
export function parseCreateTable(sql: string): TableShape | undefined {
  const name = /^CREATE TABLE IF NOT EXISTS `(\w+)` \(/.exec(sql)?.[1];
  if (name === undefined) return undefined;
  const columns = [...sql.matchAll(/^ {2}`(\w+)` ([A-Z]+(?:\(\d+\))?(?: UNSIGNED)?)(.*?),?$/gm)].map(
    ([, column = '', type = '', rest = '']): ColumnShape => {
      const parsed = parseSqlType(type);
      const nullable = !rest.includes('NOT NULL');
      const collation = parsed.family === 'text' ? 'utf8mb4_bin' : undefined;
      const fillsItself = nullable || rest.includes('DEFAULT');
      return { name: column, type: parsed, nullable, collation, fillsItself, autoIncrement: false };
    },
  );
  const keys = [...sql.matchAll(/^ {2}(?:PRIMARY KEY|KEY `(\w+)`) \((.*)\),?$/gm)].map(
    ([, key, list = '']): KeyShape => ({
      name: key ?? 'PRIMARY',
      unique: key === undefined,
      columns: list.split(', ').map((column) => column.replaceAll('`', '')),
    }),
  );
  return { name, engine: 'InnoDB', columns, keys };
}
