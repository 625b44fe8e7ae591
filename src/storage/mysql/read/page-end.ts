import type { SqlSession } from '../pool.ts';
import { quoted } from '../schema/statements.ts';

/** What a walk over whole rows may have in memory; their number alone bounds nothing. */
const PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Where a page of whole rows after this uid ends: it has at most so many rows, and no more bytes than fit into memory, but
 * never without a row. Undefined where there are no more.
 */
export async function pageEnd(
  session: SqlSession,
  table: string,
  after: string,
  mostRows: number,
): Promise<string | undefined> {
  const rows = await session.query(
    `SELECT \`uid\`, COALESCE(LENGTH(\`json\`), 0) + COALESCE(LENGTH(\`proto\`), 0) FROM ${quoted(table)} ` +
      'WHERE `uid` > ? ORDER BY `uid` LIMIT ?',
    [after, mostRows],
  );
  let bytes = 0;
  const beyond = rows.findIndex(([, size], index) => (bytes += Number(size)) > PAGE_BYTES && index > 0);
  const last = rows.at(beyond < 0 ? -1 : beyond - 1);
  return last === undefined ? undefined : String(last[0]);
}
