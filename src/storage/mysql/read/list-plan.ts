// Where a list begins to look. Left alone, the servers judge by statistics, and one wrong guess reads the whole table.
// So the possible beginnings that might be few are counted up to a bound (each a walk along a key), and the smallest
// one decides.
//
// - the order: along the key of the order, asking each row for the rest
// - a label: along the key of the label. Equality with one value finds the objects newest first, without a sort;
//   anything else is sorted, and therefore begun with only when there are few.
import type { KindDefinition } from '../../../api/kind.ts';
import { type LabelRequirement, type ListQuery, newestFirst, type Order, ordersOf } from '../../list-query.ts';
import type { SqlSession } from '../pool.ts';
import { NO_TIME } from '../schema/tables.ts';
import { countRows, estimate, rowsWithLabel } from './bounds.ts';
import { labelMatch } from './conditions.ts';

export type ListPlan = (
  | { readonly begin: 'order' }
  | { readonly begin: 'label'; readonly label: LabelRequirement; readonly sorted: 'by-key' | 'afterwards' }
) & {
  /** Labels that the objects of the walk are joined with by the key of the label. */
  readonly dated?: readonly LabelRequirement[];
};

/** Sorting this many is nothing; walking this many and asking each for the rest is little. */
const FEW = 1000;
/** What the server expects is good enough to tell so many from few. */
const CERTAINLY_MANY = 10 * FEW;
/** Of many labels only these are counted: one beginning that is good enough is enough. */
const MOST_COUNTED = 8;
/** MySQL joins 61 tables; objects are asked for the other labels one by one. */
const MOST_JOINED = 8;

export const alongOrder: ListPlan = { begin: 'order' };

export async function planList(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<ListPlan> {
  const plan = await planBeginning(session, kind, query);
  if (!isByCreation(ordersOf(query))) return plan;
  const begun = plan.begin === 'label' ? plan.label : undefined;
  const dated: LabelRequirement[] = [];
  const equalities = (query.labels ?? []).filter((label) => label !== begun && isEquality(label));
  for (const label of equalities.slice(0, MOST_JOINED)) if (await isDated(session, kind, label)) dated.push(label);
  return dated.length === 0 ? plan : { ...plan, dated };
}

/** What the original wrote of a label has no creation time, until this program has written the object. */
async function isDated(session: SqlSession, kind: KindDefinition, label: LabelRequirement): Promise<boolean> {
  const { sql, parameters } = labelMatch('l', label);
  const undated = `SELECT 1 FROM \`${kind.table}_labels\` \`l\` WHERE ${sql} AND \`l\`.\`obj_create_time\` = ? LIMIT 1`;
  return (await session.query(undated, [...parameters, NO_TIME])).length === 0;
}

async function planBeginning(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<ListPlan> {
  const positive = (query.labels ?? []).filter(({ operator }) => operator === 'in' || operator === 'exists');
  const [first] = positive;
  if (first === undefined) return alongOrder;
  const byCreation = isByCreation(ordersOf(query));
  const walkable = (label: LabelRequirement): boolean => byCreation && isEquality(label);
  if (positive.length === 1 && walkable(first) && query.namespace === undefined) return begin(first, 'by-key');
  const labels: SizedLabel[] = [];
  for (const label of positive.slice(0, MOST_COUNTED)) labels.push(await sized(session, kind, label));
  labels.sort(byRows);
  const few = labels.find(({ rows }) => rows <= FEW);
  if (few !== undefined) return begin(few.label, walkable(few.label) ? 'by-key' : 'afterwards');
  const equality = labels.find(({ label }) => walkable(label));
  return equality === undefined ? alongOrder : shorterWalk(session, kind, query.namespace, equality);
}

/** Along the namespace or along the label: either walk finds the objects in the order asked for. */
async function shorterWalk(
  session: SqlSession,
  { table }: KindDefinition,
  namespace: string | undefined,
  { label, rows }: SizedLabel,
): Promise<ListPlan> {
  const named = { from: `\`${table}\` WHERE \`namespace\` = ?`, key: 'uid', parameters: [namespace ?? ''] };
  const isShorter = namespace !== undefined && (await estimate(session, named)) <= rows;
  return isShorter ? alongOrder : begin(label, 'by-key');
}

interface SizedLabel {
  readonly label: LabelRequirement;
  /** Counted where they are few, else what the server expects. */
  readonly rows: number;
}

/** A count of few takes three times as long as asking what the server expects. */
async function sized(session: SqlSession, kind: KindDefinition, label: LabelRequirement): Promise<SizedLabel> {
  const labelled = rowsWithLabel(kind, labelMatch('l', label));
  const expected = await estimate(session, labelled);
  if (expected > CERTAINLY_MANY) return { label, rows: expected };
  const counted = await countRows(session, labelled, FEW + 1);
  return { label, rows: counted <= FEW ? counted : Math.max(counted, expected) };
}

function byRows(one: SizedLabel, other: SizedLabel): number {
  return one.rows - other.rows;
}

function begin(label: LabelRequirement, sorted: 'by-key' | 'afterwards'): ListPlan {
  return { begin: 'label', label, sorted };
}

function isByCreation(orders: readonly Order[]): boolean {
  return orders.length === 1 && orders[0]?.field === newestFirst.field;
}

function isEquality(label: LabelRequirement): boolean {
  return label.operator === 'in' && label.values.length === 1;
}
