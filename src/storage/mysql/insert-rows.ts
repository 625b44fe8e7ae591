// Many rows by few statements, none of them larger than the server accepts.
import type { SqlParameter, SqlSession } from './pool.ts';

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
