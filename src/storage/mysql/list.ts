// A page of objects. First only uids and the value of the order, so that sorting never moves large columns; then the
// objects of this page by primary key.
import type { KindDefinition } from '../../api/kind.ts';
import { decodeContinue, encodeContinue } from '../continue-token.ts';
import { QueryUnsupportedError } from '../errors.ts';
import { queryField } from '../fields.ts';
import { DEFAULT_LIMIT, type ListQuery, MAX_LIMIT, newestFirst } from '../list-query.ts';
import type { ListPage, StoredObject } from '../metadata-storage.ts';
import { afterPosition, conditionOf } from './conditions.ts';
import { readPairs, STORED_COLUMNS, toStoredObject } from './object-reads.ts';
import type { SqlParameter, SqlSession } from './pool.ts';

export async function listObjects(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<ListPage> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new QueryUnsupportedError(`a limit that is not from 1 to ${MAX_LIMIT}`, []);
  }
  const found = await findPage(session, kind, query, limit);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    items: await readObjects(
      session,
      kind,
      page.map(([uid]) => uid),
    ),
    continue:
      found.length > limit && last !== undefined ? encodeContinue(query, { uid: last[0], value: last[1] }) : undefined,
    total: query.count === 'yes' ? await countObjects(session, kind, query) : undefined,
  };
}

type Found = readonly [uid: string, value: string | number | null];

/** One more than asked for, to know whether there is a next page. */
async function findPage(
  session: SqlSession,
  kind: KindDefinition,
  query: ListQuery,
  limit: number,
): Promise<readonly Found[]> {
  const order = query.order ?? newestFirst;
  const field = queryField(kind, order.field);
  const condition = conditionOf(kind, query);
  const position = decodeContinue(query);
  const after = position === undefined ? undefined : afterPosition(field, order, position);
  const direction = order.direction === 'ascending' ? 'ASC' : 'DESC';
  const parameters: readonly SqlParameter[] = [...condition.parameters, ...(after?.parameters ?? []), limit + 1];
  const rows = await session.query(
    `SELECT CAST(\`uid\` AS CHAR), \`${field.column}\` FROM \`${kind.table}\` WHERE ${condition.sql}` +
      `${after === undefined ? '' : ` AND ${after.sql}`} ORDER BY \`${field.column}\` ${direction}, \`uid\` ${direction} LIMIT ?`,
    parameters,
  );
  return rows.map(([uid, value]) => [String(uid), value as string | number | null]);
}

async function countObjects(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<number> {
  const { sql, parameters } = conditionOf(kind, query);
  const [row] = await session.query(`SELECT COUNT(*) FROM \`${kind.table}\` WHERE ${sql}`, parameters);
  return Number(row?.[0]);
}

/** In the order of the uids. An object that was removed between the two queries is left out. */
async function readObjects(
  session: SqlSession,
  kind: KindDefinition,
  uids: readonly string[],
): Promise<readonly StoredObject[]> {
  if (uids.length === 0) return [];
  const marks = uids.map(() => '?').join(', ');
  const rows = await session.query(`SELECT ${STORED_COLUMNS} FROM \`${kind.table}\` WHERE \`uid\` IN (${marks})`, uids);
  const labels = await readPairs(session, `${kind.table}_labels`, uids);
  const annotations = await readPairs(session, `${kind.table}_annotations`, uids);
  const byUid = new Map(rows.map((row) => [String(row[0]), row]));
  return uids.flatMap((uid) => {
    const row = byUid.get(uid);
    return row === undefined ? [] : [toStoredObject(row, labels.get(uid), annotations.get(uid))];
  });
}
