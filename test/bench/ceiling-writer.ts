// The ceiling: the same rows, in a loop of bare multi-row inserts, or updates that leave labels and annotations alone,
// with prepared statements. It knows no outcomes, no locks and no queue, and its parameters are ready before the clock
// starts.
import type { Connection } from 'mysql2/promise';
import { dialectOf } from '../../src/storage/mysql/dialect.ts';
import { type KindStatements, statementsFor } from '../../src/storage/mysql/schema/statements.ts';
import { toSqlTime } from '../../src/storage/mysql/sql-time.ts';
import { parametersFor, pendingWrite } from '../../src/storage/mysql/store/pending-write.ts';
import type { ObjectRow } from '../../src/storage/row.ts';

const MAIN_ROWS = 64;
const PAIR_ROWS = 256;
const ANNOTATION_COLUMNS = ['obj_uid', 'key', 'value'];
const LABEL_COLUMNS = [...ANNOTATION_COLUMNS, 'obj_create_time'];

/** Statements and parameters of one transaction. */
export type PreparedBatch = readonly {
  readonly sql: string;
  readonly parameters: readonly (string | number | Buffer | null)[];
}[];

export function prepareBatch(rows: readonly ObjectRow[], phase: 'insert' | 'update' = 'insert'): PreparedBatch {
  const [first] = rows;
  if (first === undefined) return [];
  const statements: KindStatements = statementsFor(first.kind, dialectOf('8.4'));
  const live = { statement: 'write', state: 'live' } as const;
  const now = toSqlTime(new Date().toISOString());
  const mains = rows.map((row) => parametersFor(pendingWrite(row, live), row.uid, now));
  const pairsOf = (part: 'labels' | 'annotations') =>
    rows.flatMap((row) =>
      row[part].map(([key, value]) => [row.uid, key, value, ...(part === 'labels' ? [toSqlTime(row.createTime)] : [])]),
    );
  const pieces = (items: readonly (readonly unknown[])[], size: number, sql: (count: number) => string) =>
    Array.from({ length: Math.ceil(items.length / size) }, (_, index) => {
      const piece = items.slice(index * size, (index + 1) * size);
      const parameters = piece.flat().map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
      return { sql: sql(piece.length), parameters: parameters as (string | number | Buffer | null)[] };
    });
  if (phase === 'update') return pieces(mains, MAIN_ROWS, statements.write);
  return [
    ...pieces(mains, MAIN_ROWS, statements.insert),
    ...pieces(pairsOf('labels'), PAIR_ROWS, insertPairs(`${first.kind.table}_labels`, LABEL_COLUMNS)),
    ...pieces(pairsOf('annotations'), PAIR_ROWS, insertPairs(`${first.kind.table}_annotations`, ANNOTATION_COLUMNS)),
  ];
}

function insertPairs(table: string, columns: readonly string[]): (rows: number) => string {
  const list = columns.map((column) => `\`${column}\``).join(', ');
  const row = `(${columns.map(() => '?').join(', ')})`;
  return (rows) => `INSERT INTO \`${table}\` (${list}) VALUES ${Array(rows).fill(row).join(', ')}`;
}

export async function writePrepared(connection: Connection, batch: PreparedBatch): Promise<void> {
  await connection.query('START TRANSACTION');
  for (const { sql, parameters } of batch) await connection.execute(sql, [...parameters]);
  await connection.query('COMMIT');
}
