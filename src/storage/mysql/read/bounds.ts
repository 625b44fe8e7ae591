// How many objects a query would look at, found before it does.
import type { KindDefinition } from '../../../api/kind.ts';
import { type ListQuery, MOST_LOOKED_AT, refuseLooking } from '../../list-query.ts';
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

export async function countUpTo(
  session: SqlSession,
  { table }: KindDefinition,
  { sql, parameters }: SqlCondition,
  most: number,
): Promise<number> {
  const matching = `SELECT 1 FROM \`${table}\` \`m\` WHERE ${sql} LIMIT ${most}`;
  const [row] = await session.query(`SELECT COUNT(*) FROM (${matching}) \`counted\``, parameters);
  return Number(row?.[0]);
}

/** How many rows the server expects to look at by its best key: a guess, and as fast for a million rows as for one. */
export async function expectedRows(
  session: SqlSession,
  kind: KindDefinition,
  { labels = [], annotations: _, ...rest }: Selection,
): Promise<number> {
  const { sql, parameters } = conditionOf(kind, rest);
  let least = await estimate(session, `\`${kind.table}\` \`m\` WHERE ${sql}`, parameters);
  for (const label of labels.filter(({ operator }) => operator === 'in' || operator === 'exists')) {
    const match = labelMatch('l', label);
    least = Math.min(
      least,
      await estimate(session, `\`${kind.table}_labels\` \`l\` WHERE ${match.sql}`, match.parameters),
    );
  }
  return least;
}

/** Columns of MariaDB's EXPLAIN; MySQL has `partitions` and `filtered` too. */
const MARIADB_COLUMNS = 10;

/**
 * How many rows the server expects along the key, by looking at its two ends: good enough to compare walks that are both
 * long, and as fast for a million rows as for one.
 */
export async function estimate(
  session: SqlSession,
  from: string,
  parameters: SqlCondition['parameters'] = [],
): Promise<number> {
  const [row = []] = await session.query(`EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM ${from}`, parameters);
  // The last columns are `rows`, `filtered` (MySQL only) and `Extra`.
  const expected = row.length > MARIADB_COLUMNS ? row.at(-3) : row.at(-2);
  return Number(expected ?? 0);
}
