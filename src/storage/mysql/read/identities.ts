// Reads that compare the store with a cluster: many rows, never their json.
import type { KindDefinition } from '../../../api/kind.ts';
import type { ChangedQuery, ChangedRow, IdentityQuery, Incarnation, StoredIdentity } from '../../metadata-storage.ts';
import { identityLimit } from '../../page-limit.ts';
import { type RowState, rowStates } from '../../row.ts';
import { padded } from '../chunks.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { FOREIGN_SQL, rowStateNumber, STATE_SQL } from '../schema/statements.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';
import { hasName } from './conditions.ts';
import { rowStateNamed } from './object-reads.ts';
import { identified, otherKeys } from './row-keys.ts';

const IDENTITY = `\`uid\`, \`namespace\`, \`name\`, CAST(\`res_version\` AS CHAR), ${STATE_SQL}`;
const COLUMNS = `${IDENTITY}, \`object_uid\`, \`delete_reason\` IS NOT NULL, ${FOREIGN_SQL}`;

export async function readIdentities(
  session: SqlSession,
  kind: KindDefinition,
  query: IdentityQuery,
): Promise<readonly StoredIdentity[]> {
  const most = identityLimit(query.limit);
  const found = query.uids === undefined ? await walk(session, kind, query) : await lookUp(session, kind, query);
  return found.sort((left, right) => (keyOfRow(left) < keyOfRow(right) ? -1 : 1)).slice(0, most);
}

function keyOfRow({ key, uid }: StoredIdentity): string {
  return key ?? uid;
}

/** One walk along the key of each state: their keys end with the uid, so none of them sorts. */
async function walk(
  session: SqlSession,
  kind: KindDefinition,
  { states, afterKey = '', limit }: IdentityQuery,
): Promise<StoredIdentity[]> {
  const found: StoredIdentity[] = [];
  for (const state of rowStates.filter((one) => states.includes(one))) {
    const rows = await session.query(
      `SELECT ${COLUMNS} FROM \`${kind.table}\` ` +
        `WHERE \`row_state\` = ? AND ${notDeleted(state)} AND \`uid\` > ? ORDER BY \`uid\` LIMIT ?`,
      [rowStateNumber(state), afterKey, limit],
    );
    found.push(...rows.map(toIdentity));
  }
  return found;
}

/** By the primary key, whatever the states are. */
async function lookUp(
  session: SqlSession,
  kind: KindDefinition,
  { states, afterKey = '', uids = [] }: IdentityQuery,
): Promise<StoredIdentity[]> {
  if (uids.length === 0) return [];
  const parameters = padded([...uids, ...(await otherKeys(session, kind, uids)).values()]);
  const marks = parameters.map(() => '?').join(', ');
  const rows = await session.query(`SELECT ${COLUMNS} FROM \`${kind.table}\` WHERE \`uid\` IN (${marks})`, parameters);
  // The collation ignores blanks at the end.
  const wanted = new Set(uids);
  const isWanted = (found: StoredIdentity): boolean =>
    wanted.has(found.uid) && keyOfRow(found) > afterKey && states.includes(found.state);
  return rows.map(toIdentity).filter(isWanted);
}

/** The original deletes a row by its time alone. In this form no key is chosen for it. */
function notDeleted(state: RowState): string {
  return state === 'deleted' ? 'TRUE' : 'IF(`delete_time` IS NULL, TRUE, FALSE)';
}

function toIdentity([
  key,
  namespace,
  name,
  resourceVersion,
  number,
  objectUid,
  hasReason,
  foreign,
]: SqlRow): StoredIdentity {
  const state = rowStateNamed(number);
  return {
    ...identified(key, objectUid),
    namespace: String(namespace),
    name: String(name),
    resourceVersion: String(resourceVersion),
    state,
    // Only an adoption gives a row a reason before its end.
    ...(state === 'evicting' && Number(hasReason) === 1 ? { adopted: true as const } : {}),
    ...(Number(foreign) === 1 ? { foreign: true as const } : {}),
  };
}

interface Name {
  readonly namespace: string;
  readonly name: string;
  readonly limit: number;
}

/** Along the key of the name; the one created last first. */
export async function readIncarnations(
  session: SqlSession,
  kind: KindDefinition,
  { namespace, name, limit }: Name,
): Promise<readonly Incarnation[]> {
  const named = hasName(namespace, name);
  const rows = await session.query(
    'SELECT `evict_time`, CAST(`uid` AS CHAR), `namespace`, `name`, CAST(`res_version` AS CHAR), ' +
      `${STATE_SQL}, CAST(\`object_uid\` AS CHAR) FROM \`${kind.table}\` WHERE ${named.sql} ORDER BY \`create_time\` DESC, \`uid\` DESC LIMIT ?`,
    [...named.parameters, identityLimit(limit)],
  );
  return rows.map(([evictTime, ...row]) => {
    return { ...toIdentity(row), evictTime: typeof evictTime === 'string' ? fromSqlTime(evictTime) : undefined };
  });
}

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
