// A page of objects. First only uids and the values of the order, so that sorting never moves large columns; then the
// objects of this page by primary key.
import type { KindDefinition } from '../../../api/kind.ts';
import { queryField } from '../../fields.ts';
import { DEFAULT_LIMIT, type ListQuery, type Order, ordersOf } from '../../list-query.ts';
import type { ListPage, StoredObject } from '../../metadata-storage.ts';
import { decodeContinue, encodeContinue, identityLimit, objectLimit, type Position } from '../../page-limit.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlSession } from '../pool.ts';
import { refuseWideAnnotations } from './bounds.ts';
import {
  afterPosition,
  conditionOf,
  datedLabel,
  labelMatch,
  type OrderColumns,
  type SqlCondition,
} from './conditions.ts';
import { alongOrder, type ListPlan, planList } from './list-plan.ts';
import { readPairs, type Skipped, skippedPaths, storedColumns, toStoredObject } from './object-reads.ts';

export async function listObjects(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<ListPage> {
  const limit = objectLimit(query.limit ?? DEFAULT_LIMIT);
  const skipped = skippedPaths(query.skip ?? []);
  // What cannot be asked is refused before anything is.
  pageStatement(kind, query, alongOrder);
  if (query.continue === undefined) await refuseWideAnnotations(session, kind, query);
  const { sql, parameters } = pageStatement(kind, query, await planList(session, kind, query));
  const found = (await session.query(sql, [...parameters, limit + 1])).map(
    ([uid, ...values]): Position => ({ uid: String(uid), values: values as Position['values'] }),
  );
  const most = Math.min(query.bytes ?? Number.POSITIVE_INFINITY, session.dialect.maxResultBytes);
  const wanted = found.slice(0, limit).map(({ uid }) => uid);
  const { length, items } = await readFitting(session, kind, wanted, { skipped, parts: query.parts ?? 'all', most });
  const last = found[length - 1];
  return {
    items,
    continue: found.length > length && last !== undefined ? encodeContinue(query, last) : undefined,
    total: query.count === 'yes' ? await countObjects(session, kind, query) : undefined,
  };
}

interface Page {
  /** How many of the uids it covers, of which some may have been removed meanwhile. */
  readonly length: number;
  readonly items: readonly StoredObject[];
}

/**
 * The objects that come before the one which would bring the page beyond so many bytes. Large ones never come by the hundred:
 * one statement reads those that are within their share of the bytes, mostly all. Of the others the sizes are asked first.
 */
async function readFitting(
  session: SqlSession,
  kind: KindDefinition,
  uids: readonly string[],
  { most, ...read }: Omit<Read, 'largest'> & { readonly most: number },
): Promise<Page> {
  const isBounded = most < Number.POSITIVE_INFINITY && uids.length > 1;
  const largest = isBounded ? Math.floor(most / uids.length) : Number.POSITIVE_INFINITY;
  const small = await readObjects(session, kind, uids, { ...read, largest });
  const missing = isBounded ? uids.filter((uid) => !small.has(uid)) : [];
  const large = await sizesOf(session, kind, missing);
  if (large.size === 0) return { length: uids.length, items: uids.flatMap((uid) => small.get(uid) ?? []) };
  let bytes = 0;
  const sizeOf = (uid: string): number => large.get(uid) ?? Buffer.byteLength(small.get(uid)?.json ?? '');
  const beyond = uids.findIndex((uid) => (bytes += sizeOf(uid)) > most);
  const page = beyond < 0 ? uids : uids.slice(0, Math.max(1, beyond));
  const unread = page.filter((uid) => large.has(uid));
  const rest = await readObjects(session, kind, unread, read);
  return { length: page.length, items: page.flatMap((uid) => small.get(uid) ?? rest.get(uid) ?? []) };
}

async function sizesOf(
  session: SqlSession,
  { table }: KindDefinition,
  uids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (uids.length === 0) return new Map();
  const asked = repeatedUp(uids);
  const rows = await session.query(
    `SELECT CAST(\`uid\` AS CHAR), OCTET_LENGTH(\`json\`) FROM \`${table}\` WHERE \`uid\` IN (${marksFor(asked)})`,
    asked,
  );
  return new Map(rows.map(([uid, size]) => [String(uid), Number(size)]));
}

/**
 * As many as a power of two, the last one again and again. Driver and server keep every statement they have seen, and one
 * for each number of uids would be many.
 */
function repeatedUp(uids: readonly string[]): readonly string[] {
  const count = 2 ** Math.ceil(Math.log2(uids.length));
  return [...uids, ...Array.from({ length: count - uids.length }, () => uids.at(-1) ?? '')];
}

function marksFor(values: readonly string[]): string {
  return values.map(() => '?').join(', ');
}

/** The uids and order values of a page. Its last parameter is the limit: one more than asked for tells of a next page. */
export function pageStatement(kind: KindDefinition, query: ListQuery, plan: ListPlan): SqlCondition {
  const orders = ordersOf(query);
  const fields = orders.map((order) => ({ order, field: queryField(kind, order.field) }));
  const columns = plan.begin === 'label' && plan.sorted === 'by-key' ? labelColumns : mainColumns;
  const position = decodeContinue(query);
  const conditions = [
    ...(plan.begin === 'label' ? [labelMatch('l', plan.label)] : []),
    conditionOf(kind, query, plan),
    ...(position === undefined ? [] : [afterPosition(fields, position, columns)]),
  ];
  const selected = [columns.uid, ...fields.map(({ field }) => columns.of(field))].join(', ');
  const joins = (plan.dated ?? []).map((label, index) => datedLabel(kind, label, `d${index}`));
  const sorted = [
    ...fields.map(({ field, order }) => `${columns.of(field)} ${directionOf(order)}`),
    `${columns.uid} ${directionOf(orders.at(-1))}`,
  ];
  return {
    sql:
      `SELECT ${selected} FROM ${[tablesOf(kind, plan), ...joins.map(({ sql }) => sql)].join(' ')} ` +
      `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ` +
      `ORDER BY ${sorted.join(', ')} LIMIT ?`,
    parameters: [...joins, ...conditions].flatMap(({ parameters }) => parameters),
  };
}

const mainColumns: OrderColumns = { uid: '`m`.`uid`', of: ({ column }) => `\`m\`.\`${column}\`` };
const labelColumns: OrderColumns = { uid: '`l`.`obj_uid`', of: () => '`l`.`obj_create_time`' };

function tablesOf(kind: KindDefinition, plan: ListPlan): string {
  const main = `\`${kind.table}\` \`m\``;
  if (plan.begin === 'order') return main;
  return `\`${kind.table}_labels\` \`l\` STRAIGHT_JOIN ${main} ON \`m\`.\`uid\` = \`l\`.\`obj_uid\``;
}

function directionOf(order: Order | undefined): 'ASC' | 'DESC' {
  return order?.direction === 'ascending' ? 'ASC' : 'DESC';
}

async function countObjects(session: SqlSession, kind: KindDefinition, query: ListQuery): Promise<number> {
  const { sql, parameters } = conditionOf(kind, query);
  const [row] = await session.query(`SELECT COUNT(*) FROM \`${kind.table}\` \`m\` WHERE ${sql}`, parameters);
  return Number(row?.[0]);
}

/** One step along the key of the name for each. */
export async function readNamespaces(
  session: SqlSession,
  kind: KindDefinition,
  limit: number,
): Promise<readonly string[]> {
  const rows = await session.query(
    `SELECT \`namespace\` FROM \`${kind.table}\` GROUP BY \`namespace\` ORDER BY \`namespace\` LIMIT ?`,
    [identityLimit(limit)],
  );
  return rows.map(([namespace]) => String(namespace));
}

interface Read {
  readonly skipped: Skipped;
  readonly parts: NonNullable<ListQuery['parts']>;
  /** Bytes of json; larger objects are left out. */
  readonly largest?: number;
}

/** By the keys of their rows. An object that was removed since its key was read is left out. */
async function readObjects(
  session: SqlSession,
  kind: KindDefinition,
  uids: readonly string[],
  { skipped, parts, largest = Number.POSITIVE_INFINITY }: Read,
): Promise<ReadonlyMap<string, StoredObject>> {
  if (uids.length === 0) return new Map();
  const asked = repeatedUp(uids);
  const isBounded = largest < Number.POSITIVE_INFINITY;
  const parameters: readonly SqlParameter[] = [...skipped, ...asked, ...(isBounded ? [largest] : [])];
  const rows = await session.query(
    `SELECT ${storedColumns(skipped, parts)} FROM \`${kind.table}\` WHERE \`uid\` IN (${marksFor(asked)})` +
      (isBounded ? ' AND OCTET_LENGTH(`json`) <= ?' : ''),
    parameters,
  );
  const read = rows.map(([uid]) => String(uid));
  const pairs = (what: 'labels' | 'annotations'): ReturnType<typeof readPairs> | undefined =>
    parts === 'all' ? readPairs(session, `${kind.table}_${what}`, read) : undefined;
  const labels = await pairs('labels');
  const annotations = await pairs('annotations');
  return new Map(read.map((uid, at) => [uid, toStoredObject(rows[at] ?? [], labels?.get(uid), annotations?.get(uid))]));
}
