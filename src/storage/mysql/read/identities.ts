// Reads that compare the store with a cluster: many rows, never their json.
import type { KindDefinition } from '../../../api/kind.ts';
import type { IdentityQuery, Incarnation, StoredIdentity, Tombstone, TombstoneQuery } from '../../metadata-storage.ts';
import { identityLimit } from '../../page-limit.ts';
import { type RowState, rowStates } from '../../row.ts';
import type { SqlParameter, SqlRow, SqlSession } from '../pool.ts';
import { rowStateNumber } from '../schema/statements.ts';
import { fromSqlTime } from '../sql-time.ts';
import { hasName } from './conditions.ts';
import { rowStateNamed } from './object-reads.ts';

/** One walk along the key of each state: their keys end with the uid, so none of them sorts. */
export async function readIdentities(
  session: SqlSession,
  kind: KindDefinition,
  { states, afterUid = '', limit }: IdentityQuery,
): Promise<readonly StoredIdentity[]> {
  const most = identityLimit(limit);
  const found: StoredIdentity[] = [];
  for (const state of rowStates.filter((one) => states.includes(one))) {
    const rows = await session.query(
      'SELECT `uid`, `namespace`, `name`, CAST(`res_version` AS CHAR), `row_state`, `delete_reason` IS NOT NULL ' +
        `FROM \`${kind.table}\` WHERE \`row_state\` = ? AND \`uid\` > ? ORDER BY \`uid\` LIMIT ?`,
      [rowStateNumber(state), afterUid, most],
    );
    found.push(...rows.map(toIdentity));
  }
  return found.sort((left, right) => (left.uid < right.uid ? -1 : 1)).slice(0, most);
}

function toIdentity([uid, namespace, name, resourceVersion, number, hasReason]: SqlRow): StoredIdentity {
  const state = rowStateNamed(number);
  return {
    uid: String(uid),
    namespace: String(namespace),
    name: String(name),
    resourceVersion: String(resourceVersion),
    state,
    // Only an adoption gives a row a reason before its end.
    ...(state === 'evicting' && Number(hasReason) === 1 ? { adopted: true as const } : {}),
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
    'SELECT `evict_time`, CAST(`uid` AS CHAR), `namespace`, `name`, CAST(`res_version` AS CHAR), `row_state` ' +
      `FROM \`${kind.table}\` WHERE ${named.sql} ORDER BY \`create_time\` DESC, \`uid\` DESC LIMIT ?`,
    [...named.parameters, identityLimit(limit)],
  );
  return rows.map(([evictTime, ...row]) => {
    return { ...toIdentity(row), evictTime: typeof evictTime === 'string' ? fromSqlTime(evictTime) : undefined };
  });
}

/** Walks the key of the evicted rows in the order asked for; the newest incarnation of a name stands for all. */
export async function readTombstones(
  session: SqlSession,
  kind: KindDefinition,
  { namespace, after, limit }: TombstoneQuery,
): Promise<readonly Tombstone[]> {
  const table = `\`${kind.table}\``;
  const conditions = ['`e`.`row_state` = ?'];
  const parameters: SqlParameter[] = [rowStateNumber('evicted')];
  if (namespace !== undefined) {
    conditions.push('`e`.`namespace` = ?');
    parameters.push(namespace);
  }
  if (after !== undefined) {
    conditions.push('(`e`.`namespace` > ? OR (`e`.`namespace` = ? AND `e`.`name` > ?))');
    parameters.push(after.namespace, after.namespace, after.name);
  }
  const sameName = '`o`.`namespace` = `e`.`namespace` AND `o`.`name` = `e`.`name`';
  const alive = inStates(['live', 'evicting']);
  const newer =
    '(`o`.`create_time` > `e`.`create_time` OR (`o`.`create_time` = `e`.`create_time` AND `o`.`uid` > `e`.`uid`))';
  const rows = await session.query(
    'SELECT `e`.`uid`, `e`.`namespace`, `e`.`name`, CAST(`e`.`res_version` AS CHAR), `e`.`evict_time` ' +
      `FROM ${table} \`e\` WHERE ${conditions.join(' AND ')} ` +
      `AND NOT EXISTS (SELECT 1 FROM ${table} \`o\` WHERE \`o\`.\`row_state\` IN (${alive}) AND ${sameName}) ` +
      `AND NOT EXISTS (SELECT 1 FROM ${table} \`o\` WHERE \`o\`.\`row_state\` = \`e\`.\`row_state\` AND ${sameName} AND ${newer}) ` +
      'ORDER BY `e`.`namespace`, `e`.`name` LIMIT ?',
    [...parameters, identityLimit(limit)],
  );
  return rows.map(([uid, where, name, resourceVersion, evictTime]) => ({
    uid: String(uid),
    namespace: String(where),
    name: String(name),
    resourceVersion: String(resourceVersion),
    evictTime: fromSqlTime(String(evictTime)),
  }));
}

function inStates(states: readonly RowState[]): string {
  return states.map(rowStateNumber).join(', ');
}
