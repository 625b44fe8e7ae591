import type { KindDefinition } from '../../../api/kind.ts';
import type { ChangedQuery, ChangedRow } from '../../changes.ts';
import { identityLimit } from '../../page-limit.ts';
import type { SqlSession } from '../pool.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';

/** By the key of `update_time` alone, which ends with the primary key. */
export async function readChangedRows(
  session: SqlSession,
  kind: KindDefinition,
  { since, after, limit }: ChangedQuery,
): Promise<readonly ChangedRow[]> {
  const from = toSqlTime(after?.updateTime ?? since);
  const rows = await session.query(
    `SELECT \`uid\`, \`update_time\` FROM \`${kind.table}\` WHERE \`update_time\` >= ? ` +
      'AND (`update_time` > ? OR `uid` > ?) ORDER BY `update_time`, `uid` LIMIT ?',
    [from, from, after?.key ?? '', identityLimit(limit)],
  );
  return rows.map(([key, time]) => ({ key: String(key), updateTime: fromSqlTime(String(time)) }));
}
