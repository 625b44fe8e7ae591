// What a table looks like: as the server describes it, and as one of our CREATE TABLE statements wants it.
import type { SqlSession } from '../pool.ts';

export interface ColumnShape {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable: boolean;
  /** Of text, else undefined. */
  readonly collation: string | undefined;
  /** The default, as text; undefined for none, or NULL. */
  readonly default: string | undefined;
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
    default: defaultText(defaultValue),
    fillsItself: nullable === 'YES' || defaultValue !== null || autoIncrement || String(extra).includes('GENERATED'),
    autoIncrement,
  };
}

/** MySQL gives the value, MariaDB an expression; NULL is no default of either. */
function defaultText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === 'NULL') return undefined;
  return /^'(.*)'$/.exec(value)?.[1] ?? value;
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
      const [, quoted, plain] = / DEFAULT (?:'(.*)'|(\S+))$/.exec(rest) ?? [];
      return {
        name: column,
        type: parsed,
        nullable,
        collation,
        default: quoted ?? plain,
        fillsItself,
        autoIncrement: false,
      };
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

// SQL types as far as widening them is concerned. MySQL and MariaDB spell the same type in different ways.

type TypeFamily = 'text' | 'blob' | 'int' | 'time' | 'json' | 'other';

export interface SqlType {
  /** As it is written in a statement. */
  readonly text: string;
  readonly base: string;
  readonly family: TypeFamily;
  /** Within its family more is wider: characters, bytes, digits of a second. */
  readonly capacity: number;
  readonly unsigned: boolean;
}

/** What a type without a size holds: bytes of text and data, bytes of a number, digits of a second. */
const types: Readonly<Record<string, readonly [TypeFamily, number]>> = {
  char: ['text', 1],
  varchar: ['text', 1],
  tinytext: ['text', 2 ** 8],
  text: ['text', 2 ** 16],
  mediumtext: ['text', 2 ** 24],
  longtext: ['text', 2 ** 32],
  binary: ['blob', 1],
  varbinary: ['blob', 1],
  tinyblob: ['blob', 2 ** 8],
  blob: ['blob', 2 ** 16],
  mediumblob: ['blob', 2 ** 24],
  longblob: ['blob', 2 ** 32],
  tinyint: ['int', 1],
  smallint: ['int', 2],
  mediumint: ['int', 3],
  int: ['int', 4],
  bigint: ['int', 8],
  datetime: ['time', 0],
  timestamp: ['time', 0],
  json: ['json', 0],
};

function parseSqlType(written: string): SqlType {
  const [, name = '', size] = /^(\w+)(?:\((\d+)\))?/.exec(written.toLowerCase()) ?? [];
  const base = name === 'boolean' ? 'tinyint' : name;
  const unsigned = /unsigned/i.test(written);
  const [family, unsized] = types[base] ?? ['other', 0];
  // The display width of a number is no size.
  const capacity = size === undefined || family === 'int' ? unsized : Number(size);
  const text = family === 'int' ? `${base}${unsigned ? ' unsigned' : ''}` : written;
  return { text: family === 'other' ? written : text.toUpperCase(), base, family, capacity, unsigned };
}

/**
 * What a column of one type becomes so that it takes everything of another: the same type where it does already, the
 * wanted one, or undefined where that is no widening. Nothing is ever made narrower.
 */
export function widened(existing: SqlType, wanted: SqlType): SqlType | undefined {
  if (wanted.family === 'json') {
    // MariaDB's JSON is a LONGTEXT.
    return existing.family === 'json' || existing.base === 'longtext' ? existing : undefined;
  }
  if (existing.family !== wanted.family || wanted.family === 'other') return undefined;
  if (existing.base === 'timestamp') return wanted;
  if (wanted.family === 'int' && existing.unsigned !== wanted.unsigned) return wanted;
  const indexable = wanted.base === 'varchar' && !['char', 'varchar'].includes(existing.base);
  if (indexable) return undefined;
  return existing.capacity >= wanted.capacity ? existing : wanted;
}
