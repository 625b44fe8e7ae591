// Figures over groups of objects, in one statement, so that they belong to the same state of the table.
import type { KindDefinition } from '../../../api/kind.ts';
import {
  type Aggregate,
  type AggregatePlan,
  type AggregateQuery,
  type AggregateValue,
  aggregatePlan,
  countsOnce,
  type Figure,
  type GroupKey,
  MAX_GROUPS,
  MAX_SORTED,
  refuseSorting,
  SAMPLED,
  wholeAggregate,
} from '../../aggregate.ts';
import { QueryUnsupportedError } from '../../errors.ts';
import type { QueryField } from '../../fields.ts';
import { ORIGIN_KEY } from '../../owners.ts';
import type { SqlSession } from '../pool.ts';
import { fromSqlTime } from '../sql-time.ts';
import { estimate, expectedRows, refuseWideAnnotations } from './bounds.ts';
import { conditionOf, type SqlCondition } from './conditions.ts';

export async function readAggregate(
  session: SqlSession,
  kind: KindDefinition,
  query: AggregateQuery,
): Promise<Aggregate> {
  const plan = aggregatePlan(kind, query);
  const medians = plan.figures.some(isMedian);
  if (medians && session.dialect.medians === 'refused')
    throw new QueryUnsupportedError('a median over the rows of several shards', ['min', 'max']);
  // What cannot be asked is refused before anything is.
  aggregateStatement(kind, query, plan);
  const oneIn = query.approximate === 'yes' ? await sampleOf(session, kind, query) : 1;
  const walk = oneIn > 1 ? { oneIn } : await walkOf(session, kind, query);
  await refuseWideAnnotations(session, kind, query, (rest) => conditionBy(walk, kind, rest));
  const restored = countsOnce(query) ? await hasRestored(session, kind) : 'none';
  const { sql, parameters } = aggregateStatement(kind, query, plan, { walk, restored });
  const rows = await session.query(sql, [...parameters, (plan.limit ?? MAX_GROUPS) + 1]);
  if (medians && Number(rows[0]?.at(-1) ?? 0) > MAX_SORTED) refuseSorting();
  const groups = (rows as readonly (readonly (string | number | null)[])[]).map((row) => ({
    key: plan.keys.map(({ field, length }, index) => valueOf(field, row[index] ?? null, length)),
    count: Number(row[plan.keys.length]),
    figures: plan.figures.map(({ field }, index) => valueOf(field, row[plan.keys.length + 1 + index] ?? null)),
  }));
  return wholeAggregate(groups, plan, oneIn);
}

/**
 * How the rows of a query are found: by the keys that the server chooses, all of them one after another, or one in so many,
 * a power of two.
 */
type Walk = 'by-key' | 'whole-table' | { readonly oneIn: number };

/** Of fewer the key of deletions is faster, though it leads to rows in no order. */
const MOST_BY_KEY = 1 / 3;

/**
 * Where nothing narrows the query, the key of deletions finds nearly every row, each on a page of its own: five times as
 * slow as all pages in their order. The servers do not see that, because they take half of the rows for the most that a
 * key can find. Where most objects are deleted they are right.
 */
async function walkOf(session: SqlSession, kind: KindDefinition, query: AggregateQuery): Promise<Walk> {
  const { namespace, namespaces, states, where, labels = [], annotations = [], deleted } = query;
  const narrowed = [namespace, namespaces, states, where, labels[0], annotations[0]].some((part) => part !== undefined);
  if (narrowed || deleted === 'included') return 'by-key';
  const rows = (condition: string) => ({ from: `\`${kind.table}\` WHERE ${condition}`, key: 'uid', parameters: [] });
  const all = await estimate(session, rows('TRUE'));
  const present = await estimate(session, rows('`delete_time` IS NULL'));
  return present > all * MOST_BY_KEY ? 'whole-table' : 'by-key';
}

/** In the form that no key is chosen for. */
function conditionBy(walk: Walk, kind: KindDefinition, query: AggregateQuery): SqlCondition {
  if (walk === 'whole-table') return { sql: 'IF(`m`.`delete_time` IS NULL, TRUE, FALSE)', parameters: [] };
  const { sql, parameters } = conditionOf(kind, query);
  if (walk === 'by-key') return { sql, parameters };
  return { sql: `\`m\`.\`uid\` < ? AND ${sql}`, parameters: [firstBeyond(walk.oneIn), ...parameters] };
}

/** Uids are random hexadecimal digits, so those that are smaller are one in so many of any objects, side by side. */
function firstBeyond(oneIn: number): string {
  return (UID_BEGINNINGS / oneIn).toString(16).padStart(4, '0');
}

/** Of four digits. */
const UID_BEGINNINGS = 2 ** 16;

/** 1 where the server expects to look at few objects in any case. */
async function sampleOf(session: SqlSession, kind: KindDefinition, query: AggregateQuery): Promise<number> {
  const expected = await expectedRows(session, kind, query);
  return Math.min(UID_BEGINNINGS, 2 ** Math.max(0, Math.ceil(Math.log2(expected / SAMPLED))));
}

/** By the key of the labels: as a rule there is none, and then no row is asked for it. */
async function hasRestored(session: SqlSession, { table }: KindDefinition): Promise<'some' | 'none'> {
  const found = await session.query(`SELECT 1 FROM \`${table}_labels\` WHERE \`key\` = ? LIMIT 1`, [ORIGIN_KEY]);
  return found.length === 0 ? 'none' : 'some';
}

/**
 * Leaves out the objects `m` from which one of the same name was restored that is not deleted. DISTINCT has the servers make
 * the few of them a table of its own, which each object is looked up in; an object cannot take another name out of a count.
 */
function withoutRestored({ table }: KindDefinition): string {
  const restored =
    `SELECT DISTINCT \`o\`.\`uid\` FROM \`${table}_labels\` \`l\` ` +
    `STRAIGHT_JOIN \`${table}\` \`n\` ON \`n\`.\`uid\` = \`l\`.\`obj_uid\` AND \`n\`.\`delete_time\` IS NULL ` +
    `STRAIGHT_JOIN \`${table}\` \`o\` ON \`o\`.\`namespace\` = \`n\`.\`namespace\` AND \`o\`.\`name\` = \`n\`.\`name\` ` +
    'AND `o`.`uid` <> `n`.`uid` AND `l`.`value` IN (`o`.`uid`, `o`.`object_uid`) WHERE `l`.`key` = ?';
  return `LEFT JOIN (${restored}) \`once\` ON \`once\`.\`uid\` = \`m\`.\`uid\``;
}

interface Reading {
  readonly walk: Walk;
  /** Whether there may be objects to leave out because they were restored. */
  readonly restored: 'some' | 'none';
}

/** Its last parameter is the most groups to read. */
export function aggregateStatement(
  kind: KindDefinition,
  query: AggregateQuery,
  plan: AggregatePlan,
  { walk, restored }: Reading = { walk: 'by-key', restored: 'none' },
): SqlCondition {
  const condition = conditionBy(walk, kind, query);
  const isOnce = restored === 'some';
  const sql = `${condition.sql}${isOnce ? ' AND `once`.`uid` IS NULL' : ''}`;
  const parameters = [...(isOnce ? [ORIGIN_KEY] : []), ...condition.parameters];
  const joined = isOnce ? ` ${withoutRestored(kind)}` : '';
  const medians = plan.figures.some(isMedian);
  const from = `\`${kind.table}\` \`m\`${joined} WHERE ${sql}`;
  const keys = plan.keys.map((key, index) => keyParts(key).map((part, at) => ({ part, name: `\`k${index}${at}\`` })));
  const figures = plan.figures.map(({ figure, field }, index) => {
    const value = { part: `\`m\`.\`${field.column}\``, name: `\`v${index}\`` };
    return { figure, field, value };
  });
  const named = [...keys.flat(), ...figures.map(({ value }) => value)];
  // Rows are bounded in a table of their own, and only there: Vitess finds no group in one.
  const columns = named.map(({ part, name }) => `${part} AS ${name}`).join(', ');
  const source = medians ? `(SELECT ${columns} FROM ${from} LIMIT ${MAX_SORTED + 1}) \`r\`` : from;
  const term = ({ part, name }: (typeof named)[number]): string => (medians ? name : part);
  const answered = [
    ...keys.flatMap(([first]) => (first === undefined ? [] : term(first))),
    'COUNT(*)',
    ...figures.map(({ figure, field, value }) => asText(field, figureOf(figure, term(value)))),
    // Of all groups, shown or not.
    ...(medians ? ['SUM(COUNT(*)) OVER ()'] : []),
  ];
  const grouping = keys.flat().map(term);
  const order = [...(plan.limit === undefined ? [] : ['COUNT(*) DESC']), ...grouping];
  const grouped = grouping.length === 0 ? '' : ` GROUP BY ${grouping.join(', ')} ORDER BY ${order.join(', ')}`;
  return { sql: `SELECT ${answered.join(', ')} FROM ${source}${grouped} LIMIT ?`, parameters };
}

/**
 * What is equal within a group only; the first part is the key itself. The collation ignores blanks at the end, so "a" and
 * "a " are told apart by their length.
 */
function keyParts({ field: { column, type }, length }: GroupKey): readonly string[] {
  const name = `\`m\`.\`${column}\``;
  if (length !== undefined) return [`LEFT(CAST(${name} AS CHAR(26)), ${length})`];
  return type === 'string' || type === 'enum' ? [name, `CHAR_LENGTH(${name})`] : [name];
}

/** The lower median is cut out of the sorted list of the values: two to five times as fast as windows over the rows. */
function figureOf(figure: Figure['figure'], value: string): string {
  if (figure !== 'p50') return `${figure.toUpperCase()}(${value})`;
  const upToIt = `SUBSTRING_INDEX(GROUP_CONCAT(${value} ORDER BY ${value}), ',', (COUNT(${value}) + 1) DIV 2)`;
  return `SUBSTRING_INDEX(${upToIt}, ',', -1)`;
}

function isMedian({ figure }: Pick<Figure, 'figure'>): boolean {
  return figure === 'p50';
}

function asText({ type }: QueryField, sql: string): string {
  return type === 'time' ? `CAST(${sql} AS CHAR(26))` : sql;
}

function valueOf({ type }: QueryField, value: string | number | null, length?: number): AggregateValue {
  if (value === null) return null;
  if (length !== undefined) return String(value);
  switch (type) {
    case 'bool':
      return Number(value) === 1;
    case 'int':
      return Number(value);
    case 'time':
      return fromSqlTime(String(value));
    default:
      return String(value);
  }
}
