// Where a list begins to look. Left alone, the servers judge by statistics, and one wrong guess reads the whole table.
// So the possible beginnings are counted up to a bound (each a walk along a key), and the smallest one decides.
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
  /** Labels that the objects of the walk are asked for by the key of the label. */
  readonly dated?: readonly LabelRequirement[];
};

/** Sorting this many is nothing; walking this many and asking each for the rest is little. */
const FEW = 1000;
/** Of many labels only these are counted: one beginning that is good enough is enough. */
const MOST_COUNTED = 8;

export const alongOrder: ListPlan = { begin: 'order' };

export async function planList(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<ListPlan> {
  const plan = await planBeginning(session, kind, query);
  if (!isByCreation(ordersOf(query))) return plan;
  const begun = plan.begin === 'label' ? plan.label : undefined;
  const dated: LabelRequirement[] = [];
  for (const label of (query.labels ?? []).filter((one) => one !== begun && isEquality(one)))
    if (await isDated(session, kind, label)) dated.push(label);
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
  const counted: { label: LabelRequirement; count: number }[] = [];
  for (const label of positive.slice(0, MOST_COUNTED))
    counted.push({ label, count: await countLabel(session, kind, label) });
  const smallest = counted.reduce((best, one) => (one.count < best.count ? one : best));
  if (smallest.count <= FEW) return begin(smallest.label, walkable(smallest.label) ? 'by-key' : 'afterwards');
  const equality = await rarest(session, kind, counted.map(({ label }) => label).filter(walkable));
  return equality === undefined ? alongOrder : shorterWalk(session, kind, query.namespace, equality);
}

/** Of those that all have many objects. */
async function rarest(
  session: SqlSession,
  kind: KindDefinition,
  labels: readonly LabelRequirement[],
): Promise<LabelRequirement | undefined> {
  if (labels.length <= 1) return labels[0];
  const expected: { label: LabelRequirement; rows: number }[] = [];
  for (const label of labels) expected.push({ label, rows: await expectedOf(session, kind, label) });
  return expected.reduce((best, one) => (one.rows < best.rows ? one : best)).label;
}

function expectedOf(session: SqlSession, kind: KindDefinition, label: LabelRequirement): Promise<number> {
  return estimate(session, rowsWithLabel(kind, labelMatch('l', label)));
}

async function shorterWalk(
  session: SqlSession,
  kind: KindDefinition,
  namespace: string | undefined,
  label: LabelRequirement,
): Promise<ListPlan> {
  const along = namespace !== undefined && (await isSmaller(session, kind, namespace, label));
  return along ? alongOrder : begin(label, 'by-key');
}

/** Whether fewer objects are in the namespace than have the label: either walk finds them in the order asked for. */
async function isSmaller(
  session: SqlSession,
  kind: KindDefinition,
  namespace: string,
  label: LabelRequirement,
): Promise<boolean> {
  const named = { from: `\`${kind.table}\` WHERE \`namespace\` = ?`, key: 'uid', parameters: [namespace] };
  return (await estimate(session, named)) <= (await expectedOf(session, kind, label));
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

/** Up to one more than few. */
async function countLabel(session: SqlSession, kind: KindDefinition, label: LabelRequirement): Promise<number> {
  return countRows(session, rowsWithLabel(kind, labelMatch('l', label)), FEW + 1);
}
