// How labels and annotations are inserted. Out of one JSON text where the server can: an object has a dozen, and a parameter
// for each of their parts costs this side more than the rest of the row. As rows of parameters where it cannot.
import { chunks, piecesOfBytes, refuseTooLarge, statementBytes, statementSizes } from '../chunks.ts';
import type { Dialect } from '../dialect.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlSession } from '../pool.ts';
import { KEY_LENGTH, UID_LENGTH } from './tables.ts';

export interface PairTable {
  readonly name: string;
  /** SQL type that holds more than any value. */
  readonly value: string;
  /** Whether it has the time when the object was created. */
  readonly timed: boolean;
}

/** Pairs of one object. */
export interface ObjectPairs {
  readonly uid: string;
  readonly pairs: readonly (readonly [key: string, value: string])[];
  /** JSON of the pairs, where it is known. */
  readonly text?: string;
  /** What the table has in each row beyond the pair: the creation time of the object for labels, nothing for annotations. */
  readonly extra: readonly string[];
}

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
}

/** The statements that insert the pairs, one by one: none is larger than the server accepts. */
export type PairInsert = (session: SqlSession, objects: readonly ObjectPairs[]) => Iterable<Statement>;

/** `tail` is what follows the rows, as what to do with a pair that is there. */
export function pairInsert(table: PairTable, tail: string, how: Dialect['pairInsert']): PairInsert {
  return makers[how](table, tail);
}

const makers: Readonly<Record<Dialect['pairInsert'], (table: PairTable, tail: string) => PairInsert>> = {
  json: fromJson,
  rows: fromRows,
};

const columnsOf = ({ timed }: PairTable): string =>
  `\`obj_uid\`, \`key\`, \`value\`${timed ? ', `obj_create_time`' : ''}`;

/**
 * A column of JSON_TABLE. It has to be wider than the column that takes the value: MariaDB cuts what does not fit without
 * a word, and then the other one refuses it.
 */
const jsonColumn = (column: string, type: string, path: string): string =>
  `\`${column}\` ${type} PATH '${path}' ERROR ON ERROR`;
export const wider = (length: number): string => `VARCHAR(${length + 1})`;

/**
 * The one parameter is the JSON of `[[uid, creation time, [[key, value], ...]], ...]`. The pairs come last: MariaDB reads what
 * is before a column once for each pair.
 */
function fromJson(table: PairTable, tail: string): PairInsert {
  const columns = columnsOf(table);
  const pair = [jsonColumn('key', wider(KEY_LENGTH), '$[0]'), jsonColumn('value', table.value, '$[1]')];
  const parts = [
    jsonColumn('obj_uid', wider(UID_LENGTH), '$[0]'),
    ...(table.timed ? [jsonColumn('obj_create_time', 'VARCHAR(32)', '$[1]')] : []),
    `NESTED PATH '$[${table.timed ? 2 : 1}][*]' COLUMNS (${pair.join(', ')})`,
  ];
  const sql =
    `INSERT INTO \`${table.name}\` (${columns}) ` +
    `SELECT ${columns} FROM JSON_TABLE(?, '$[*]' COLUMNS (${parts.join(', ')})) AS \`pairs\`${tail}`;
  return function* inserts(session, objects) {
    const texts = objects.map(({ uid, pairs, text = JSON.stringify(pairs), extra }) => {
      const first = [uid, ...extra].map((value) => JSON.stringify(value));
      return `[${[...first, text].join(',')}]`;
    });
    const limits = { bytesOf: (text: string) => Buffer.byteLength(text), maxBytes: statementBytes(session) };
    for (const piece of piecesOfBytes(texts, limits)) {
      refuseTooLarge(session, limits.bytesOf(piece[0] ?? ''));
      yield { sql, parameters: [`[${piece.join(',')}]`] };
    }
  };
}

function fromRows(table: PairTable, tail: string): PairInsert {
  const row = table.timed ? '(?, ?, ?, ?)' : '(?, ?, ?)';
  const begin = `INSERT INTO \`${table.name}\` (${columnsOf(table)}) VALUES `;
  return function* inserts(session, objects) {
    const rows = objects.flatMap(({ uid, pairs, extra }) => pairs.map(([key, value]) => [uid, key, value, ...extra]));
    const bytesOf = (values: readonly string[]): number =>
      values.reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    const limits = { bytesOf, maxBytes: statementBytes(session), maxRows: statementSizes[0] };
    for (const chunk of chunks(rows, limits)) {
      refuseTooLarge(session, bytesOf(chunk[0] ?? []));
      yield { sql: `${begin}${chunk.map(() => row).join(', ')}${tail}`, parameters: chunk.flat() };
    }
  };
}
