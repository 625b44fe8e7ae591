// The evicted objects whose name nothing uses; the newest incarnation of a name stands for all.
import type { KindDefinition } from '../../../api/kind.ts';
import type { Tombstone, TombstoneQuery } from '../../metadata-storage.ts';
import { identityLimit } from '../../page-limit.ts';
import type { RowState } from '../../row.ts';
import { padded } from '../chunks.ts';
import type { Dialect } from '../dialect.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { rowStateNumber } from '../schema/statements.ts';
import { fromSqlTime } from '../sql-time.ts';
import type { SqlCondition } from './conditions.ts';

type Read = (session: SqlSession, kind: KindDefinition, query: TombstoneQuery) => Promise<readonly Tombstone[]>;

export function readTombstones(
  session: SqlSession,
  kind: KindDefinition,
  query: TombstoneQuery,
): Promise<readonly Tombstone[]> {
  identityLimit(query.limit);
  return readers[session.dialect.tombstones](session, kind, query);
}

const readers: Readonly<Record<Dialect['tombstones'], Read>> = { 'in one statement': inOne, 'by names': byNames };

/** Of the evicted rows `e`, from where the last page ended. */
function evictedRows({ namespace, after }: Omit<TombstoneQuery, 'limit'>): SqlCondition {
  const conditions = ['`e`.`row_state` = ?', 'IF(`e`.`delete_time` IS NULL, TRUE, FALSE)'];
  const parameters: SqlParameter[] = [rowStateNumber('evicted')];
  if (namespace !== undefined) {
    conditions.push('`e`.`namespace` = ?');
    parameters.push(namespace);
  }
  if (after !== undefined) {
    conditions.push('(`e`.`namespace` > ? OR (`e`.`namespace` = ? AND `e`.`name` > ?))');
    parameters.push(after.namespace, after.namespace, after.name);
  }
  return { sql: conditions.join(' AND '), parameters };
}

const COLUMNS =
  'COALESCE(`e`.`object_uid`, `e`.`uid`), `e`.`namespace`, `e`.`name`, CAST(`e`.`res_version` AS CHAR), `e`.`evict_time`';

/** Walks the key of the evicted rows in the order asked for. */
async function inOne(session: SqlSession, kind: KindDefinition, query: TombstoneQuery): Promise<readonly Tombstone[]> {
  const table = `\`${kind.table}\``;
  const { sql, parameters } = evictedRows(query);
  const sameName = '`o`.`namespace` = `e`.`namespace` AND `o`.`name` = `e`.`name`';
  const alive = inStates(['live', 'evicting']);
  const newer =
    '(`o`.`create_time` > `e`.`create_time` OR (`o`.`create_time` = `e`.`create_time` AND `o`.`uid` > `e`.`uid`))';
  const rows = await session.query(
    `SELECT ${COLUMNS} FROM ${table} \`e\` WHERE ${sql} ` +
      `AND NOT EXISTS (SELECT 1 FROM ${table} \`o\` WHERE \`o\`.\`row_state\` IN (${alive}) AND \`o\`.\`delete_time\` IS NULL AND ${sameName}) ` +
      `AND NOT EXISTS (SELECT 1 FROM ${table} \`o\` WHERE \`o\`.\`row_state\` = \`e\`.\`row_state\` AND \`o\`.\`delete_time\` IS NULL AND ${sameName} AND ${newer}) ` +
      'ORDER BY `e`.`namespace`, `e`.`name` LIMIT ?',
    [...parameters, query.limit],
  );
  return rows.map(toTombstone);
}

/** Names of one question. */
const NAMES = 64;

/**
 * Where the incarnations of a name lie on several shards: a page of evicted rows, then all that have one of its names and are
 * not deleted.
 */
async function byNames(
  session: SqlSession,
  kind: KindDefinition,
  query: TombstoneQuery,
): Promise<readonly Tombstone[]> {
  const found: Tombstone[] = [];
  let { after } = query;
  while (found.length < query.limit) {
    const page = await namesAfter(session, kind, { ...query, ...(after === undefined ? {} : { after }) });
    const last = page.names.at(-1);
    if (last === undefined) break;
    for (const names of groupsOf(page.names)) found.push(...(await tombstonesAmong(session, kind, names)));
    if (page.isLast) break;
    after = last;
  }
  return found.slice(0, query.limit);
}

interface Name {
  readonly namespace: string;
  readonly name: string;
}

async function namesAfter(
  session: SqlSession,
  kind: KindDefinition,
  query: TombstoneQuery,
): Promise<{ readonly names: readonly Name[]; readonly isLast: boolean }> {
  const { sql, parameters } = evictedRows(query);
  const limit = Math.min(query.limit, session.dialect.maxRows);
  const rows = await session.query(
    `SELECT \`e\`.\`namespace\`, \`e\`.\`name\` FROM \`${kind.table}\` \`e\` WHERE ${sql} ` +
      'ORDER BY `e`.`namespace`, `e`.`name` LIMIT ?',
    [...parameters, limit],
  );
  const names = new Map(rows.map(([namespace, name]) => [keyOf(namespace, name), toName(namespace, name)]));
  return { names: [...names.values()], isLast: rows.length < limit };
}

/** Of one namespace each, in their order. */
function groupsOf(names: readonly Name[]): readonly (readonly Name[])[] {
  const groups: Name[][] = [];
  for (const name of names) {
    const last = groups.at(-1);
    if (last !== undefined && last.length < NAMES && last[0]?.namespace === name.namespace) last.push(name);
    else groups.push([name]);
  }
  return groups;
}

/** In the order of the names, which are of one namespace. */
async function tombstonesAmong(
  session: SqlSession,
  kind: KindDefinition,
  names: readonly Name[],
): Promise<readonly Tombstone[]> {
  const wanted = padded(names.map(({ name }) => name));
  const rows = await session.query(
    `SELECT ${COLUMNS}, \`e\`.\`row_state\` FROM \`${kind.table}\` \`e\` WHERE \`e\`.\`namespace\` = ? ` +
      `AND \`e\`.\`name\` IN (${wanted.map(() => '?').join(', ')}) ` +
      `AND \`e\`.\`row_state\` IN (${inStates(['live', 'evicting', 'evicted'])}) AND \`e\`.\`delete_time\` IS NULL ` +
      'ORDER BY `e`.`create_time` DESC, `e`.`uid` DESC',
    [names[0]?.namespace ?? '', ...wanted],
  );
  const evicted = rowStateNumber('evicted');
  const byName = Map.groupBy(rows, ([, namespace, name]) => keyOf(namespace, name));
  return names.flatMap(({ namespace, name }) => {
    const [newest, ...older] = byName.get(keyOf(namespace, name)) ?? [];
    const isFree = [newest, ...older].every((row) => Number(row?.[5]) === evicted);
    return newest === undefined || !isFree ? [] : [toTombstone(newest)];
  });
}

function keyOf(namespace: unknown, name: unknown): string {
  return `${String(namespace)}/${String(name)}`;
}

function toName(namespace: unknown, name: unknown): Name {
  return { namespace: String(namespace), name: String(name) };
}

function toTombstone([uid, namespace, name, resourceVersion, evictTime]: SqlRow): Tombstone {
  return {
    uid: String(uid),
    ...toName(namespace, name),
    resourceVersion: String(resourceVersion),
    evictTime: fromSqlTime(String(evictTime)),
  };
}

function inStates(states: readonly RowState[]): string {
  return states.map(rowStateNumber).join(', ');
}
