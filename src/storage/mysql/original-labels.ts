import type { SqlSession } from './pool.ts';
import type { Page } from './table-walk.ts';

const PAGE_OBJECTS = 500;
const NO_TIME = '1970-01-01 00:00:00.000000';

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
