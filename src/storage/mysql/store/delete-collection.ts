// Soft-deletes what a selector finds, page by page: found without locks, locked in the order that all writers use,
// and asked again under the lock, so that an object which changed in between is not deleted for what it was.
import type { KindDefinition } from '../../../api/kind.ts';
import { isAborted } from '../../../base/abort.ts';
import { type CollectionQuery, type CollectionResult, DEFAULT_COLLECTION } from '../../bulk.ts';
import { identityLimit } from '../../page-limit.ts';
import type { SqlSession } from '../pool.ts';
import { conditionOf, inStates, type SqlCondition } from '../read/conditions.ts';
import { OWN_UPDATE_SQL, rowStateNumber } from '../schema/statements.ts';
import { toSqlTime } from '../sql-time.ts';

const PAGE = 256;

export interface Sessions {
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  write<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** The time of a change, as MySQL takes it. */
  readonly now: () => string;
  /** Ends the reading, and no page is begun after it. */
  readonly signal: AbortSignal;
}

export async function deleteCollection(
  sessions: Sessions,
  kind: KindDefinition,
  query: CollectionQuery,
  at: Date,
): Promise<CollectionResult> {
  const condition = collectionCondition(kind, query);
  const most = identityLimit(query.limit ?? DEFAULT_COLLECTION);
  let deleted = 0;
  for (;;) {
    const limit = Math.min(PAGE, most - deleted);
    const uids = await sessions
      .read((session) => find(session, kind, condition, limit))
      .catch((error: unknown) => {
        if (!isAborted(sessions.signal)) throw error;
      });
    if (uids === undefined || isAborted(sessions.signal)) return { deleted, remaining: 'some' };
    if (uids.length === 0) return { deleted, remaining: 'none' };
    if (limit === 0) return { deleted, remaining: 'some' };
    deleted += await sessions.write((session) => deletePage(session, kind, { condition, uids, at, now: sessions.now }));
  }
}

function collectionCondition(
  kind: KindDefinition,
  { states, resourceVersion, ...query }: CollectionQuery,
): SqlCondition {
  const { sql, parameters } = conditionOf(kind, { ...query, deleted: 'included' });
  const selected = `${inStates(states)} AND ${sql}`;
  if (resourceVersion === undefined) return { sql: selected, parameters };
  return { sql: `\`m\`.\`res_version\` = ? AND ${selected}`, parameters: [resourceVersion, ...parameters] };
}

/** One at least, to know whether anything remains. */
async function find(
  session: SqlSession,
  kind: KindDefinition,
  { sql, parameters }: SqlCondition,
  limit: number,
): Promise<readonly string[]> {
  const found = await session.query(`SELECT \`m\`.\`uid\` FROM \`${kind.table}\` \`m\` WHERE ${sql} LIMIT ?`, [
    ...parameters,
    Math.max(1, limit),
  ]);
  return found.map(([uid]) => String(uid)).sort();
}

interface Page {
  readonly condition: SqlCondition;
  readonly uids: readonly string[];
  readonly at: Date;
  /** Asked once the rows of this page are locked: readers of what changed go on meanwhile. */
  readonly now: () => string;
}

async function deletePage(
  session: SqlSession,
  kind: KindDefinition,
  { condition, uids, at, now }: Page,
): Promise<number> {
  const among = `\`uid\` IN (${uids.map(() => '?').join(', ')})`;
  await session.query(`SELECT \`uid\` FROM \`${kind.table}\` WHERE ${among} FOR UPDATE`, uids);
  const still = await session.query(
    `SELECT \`m\`.\`uid\` FROM \`${kind.table}\` \`m\` WHERE \`m\`.${among} AND ${condition.sql}`,
    [...uids, ...condition.parameters],
  );
  if (still.length === 0) return 0;
  const noted = now();
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`row_state\` = ?, \`delete_time\` = ?, ${OWN_UPDATE_SQL}, ` +
      `\`evict_time\` = NULL, \`evict_request_time\` = NULL WHERE \`uid\` IN (${still.map(() => '?').join(', ')})`,
    [rowStateNumber('deleted'), toSqlTime(at.toISOString()), ...[noted, noted], ...still.map(([uid]) => String(uid))],
  );
  return still.length;
}
