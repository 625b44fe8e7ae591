// How many objects a query would look at, found before it does.
import type { KindDefinition } from '../../../api/kind.ts';
import { type ListQuery, MOST_LOOKED_AT, refuseLooking } from '../../list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { SqlSession } from '../pool.ts';
import { conditionOf, labelMatch, type SqlCondition } from './conditions.ts';

type Selection = Pick<
  ListQuery,
  'namespace' | 'namespaces' | 'labels' | 'annotations' | 'where' | 'deleted' | 'states'
>;

/** Annotations are asked of each object that fulfils the rest of the query, which `conditionFor` finds. */
export async function refuseWideAnnotations(
  session: SqlSession,
  kind: KindDefinition,
  { annotations = [], ...rest }: Selection,
  conditionFor: (rest: Selection) => SqlCondition = (selection) => conditionOf(kind, selection),
): Promise<void> {
  if (annotations.length === 0) return;
  const found = await countUpTo(session, kind, conditionFor(rest), MOST_LOOKED_AT + 1);
  if (found > MOST_LOOKED_AT) refuseLooking();
}

async function countUpTo(
  session: SqlSession,
  { table }: KindDefinition,
  { sql, parameters }: SqlCondition,
  most: number,
): Promise<number> {
  return countRows(session, { from: `\`${table}\` \`m\` WHERE ${sql}`, key: 'uid', parameters }, most);
}

/** Up to so many. Where the shards would have to send them to be counted, all are counted by the shards. */
export async function countRows(session: SqlSession, { from, parameters }: Rows, most: number): Promise<number> {
  const sql =
    most > session.dialect.maxRows
      ? `SELECT COUNT(*) FROM ${from}`
      : `SELECT COUNT(*) FROM (SELECT 1 FROM ${from} LIMIT ${most}) \`counted\``;
  const [row] = await session.query(sql, parameters);
  return Number(row?.[0]);
}

/** How many rows the server expects to look at by its best key: a guess, and as fast for a million rows as for one. */
export async function expectedRows(
  session: SqlSession,
  kind: KindDefinition,
  { labels = [], annotations: _, ...rest }: Selection,
): Promise<number> {
  const { sql, parameters } = conditionOf(kind, rest);
  let least = await estimate(session, { from: `\`${kind.table}\` \`m\` WHERE ${sql}`, key: 'uid', parameters });
  for (const label of labels.filter(({ operator }) => operator === 'in' || operator === 'exists')) {
    const match = labelMatch('l', label);
    least = Math.min(least, await estimate(session, rowsWithLabel(kind, match)));
  }
  return least;
}

export function rowsWithLabel({ table }: KindDefinition, { sql, parameters }: SqlCondition): Rows {
  return { from: `\`${table}_labels\` \`l\` WHERE ${sql}`, key: 'obj_uid', parameters };
}

/** Columns of MariaDB's EXPLAIN; MySQL has `partitions` and `filtered` too. */
const MARIADB_COLUMNS = 10;

/**
 * How many rows the server expects along the key, by looking at its two ends: good enough to compare walks that are both
 * long, and as fast for a million rows as for one.
 */
export function estimate(session: SqlSession, rows: Rows): Promise<number> {
  return estimators[session.dialect.estimate](session, rows);
}

/** Rows of one table. */
export interface Rows {
  /** The table and a condition. */
  readonly from: string;
  /** The column of the uids. */
  readonly key: string;
  readonly parameters: SqlCondition['parameters'];
}

const estimators: Readonly<Record<Dialect['estimate'], typeof estimate>> = { explain, sample };

/** Uids begin with random hexadecimal digits. */
const SAMPLE = { before: '01', oneIn: 256 };
/** Fewer are counted. */
const MOST_COUNTED = 2000;

async function sample(session: SqlSession, rows: Rows): Promise<number> {
  const counted = await countRows(session, rows, MOST_COUNTED);
  if (counted < MOST_COUNTED) return counted;
  const part = { ...rows, from: `${rows.from} AND \`${rows.key}\` < '${SAMPLE.before}'` };
  return Math.max(counted, SAMPLE.oneIn * (await countRows(session, part, Number.POSITIVE_INFINITY)));
}

async function explain(session: SqlSession, { from, parameters }: Rows): Promise<number> {
  const [row = []] = await session.query(`EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM ${from}`, parameters);
  // The last columns are `rows`, `filtered` (MySQL only) and `Extra`.
  const expected = row.length > MARIADB_COLUMNS ? row.at(-3) : row.at(-2);
  return Number(expected ?? 0);
}
