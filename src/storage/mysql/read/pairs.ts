// Labels or annotations of several objects.
import { padded } from '../chunks.ts';
import type { SqlRow, SqlSession } from '../pool.ts';

/**
 * Rows of obj_uid, key and value, in this order. Of so many objects at once as the server answers for, and on where a page
 * of its answer ended, where it gives pages.
 */
export async function readPairRows(
  session: SqlSession,
  table: string,
  uids: readonly string[],
): Promise<readonly SqlRow[]> {
  const { maxObjects } = session.dialect;
  const found: (readonly SqlRow[])[] = [];
  for (let from = 0; from < uids.length; from += maxObjects)
    found.push(...(await pagesOf(session, table, uids.slice(from, from + maxObjects))));
  return found.flat();
}

async function pagesOf(
  session: SqlSession,
  table: string,
  uids: readonly string[],
): Promise<readonly (readonly SqlRow[])[]> {
  const { maxRows } = session.dialect;
  const parameters = padded(uids);
  const page = (after: string): string =>
    `SELECT \`obj_uid\`, \`key\`, \`value\` FROM \`${table}\` WHERE \`obj_uid\` IN (${parameters.map(() => '?').join(', ')})${after} ` +
    `ORDER BY \`obj_uid\`, \`key\`${maxRows === Number.POSITIVE_INFINITY ? '' : ` LIMIT ${maxRows}`}`;
  const pages = [await session.query(page(''), parameters)];
  for (let last = pages[0]; last?.length === maxRows; last = pages.at(-1)) {
    const [uid, key] = (last.at(-1) ?? []).map(String);
    const after = ' AND (`obj_uid` > ? OR (`obj_uid` = ? AND `key` > ?))';
    pages.push(await session.query(page(after), [...parameters, uid ?? '', uid ?? '', key ?? '']));
  }
  return pages;
}
