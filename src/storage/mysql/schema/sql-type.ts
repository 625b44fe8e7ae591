// SQL types as far as widening them is concerned. MySQL and MariaDB spell the same type in different ways.

export type TypeFamily = 'text' | 'blob' | 'int' | 'time' | 'json' | 'other';

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

export function parseSqlType(written: string): SqlType {
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
