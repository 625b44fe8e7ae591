// Lists over objects in memory, by the rules of the port and without SQL.
import type { KindDefinition } from '../../src/api/kind.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { QueryUnsupportedError } from '../../src/storage/errors.ts';
import { fieldValue, type QueryField, queryField, withDays } from '../../src/storage/fields.ts';
import {
  type Condition,
  DEFAULT_LIMIT,
  type FieldCondition,
  type ListQuery,
  labelHolds,
  MAX_LIMIT,
  type Order,
  ordersOf,
} from '../../src/storage/list-query.ts';
import type { ListPage, StoredObject } from '../../src/storage/metadata-storage.ts';
import { skippedPaths } from '../../src/storage/mysql/read/object-reads.ts';
import { toSqlTime } from '../../src/storage/mysql/sql-time.ts';
import { decodeContinue, encodeContinue, type Position } from '../../src/storage/page-limit.ts';
import type { ObjectRow } from '../../src/storage/row.ts';

export interface MemoryEntry {
  readonly row: ObjectRow;
  readonly stored: StoredObject;
}

export type Value = string | number | null;

export function listInMemory(kind: KindDefinition, query: ListQuery, entries: readonly MemoryEntry[]): ListPage {
  const { limit = DEFAULT_LIMIT } = query;
  const orders = ordersOf(query);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new QueryUnsupportedError('the limit', []);
  const position = decodeContinue(query);
  for (const { field } of orders) queryField(kind, field);
  const positionOf = ({ row }: MemoryEntry): Position => ({
    values: orders.map(({ field }) => valueOf(kind, row, field)),
    uid: row.key ?? row.uid,
  });
  const compare = (left: Position, right: Position): number => comparePositions(orders, left, right);
  const matching = entries.filter((entry) => matches(kind, query, entry));
  const sorted = matching.toSorted((left, right) => compare(positionOf(left), positionOf(right)));
  const rest = sorted.filter((entry) => position === undefined || compare(positionOf(entry), position) > 0);
  const page = fitting(rest.slice(0, limit), query.bytes);
  const last = page.at(-1);
  return {
    items: page.map(({ stored }) => partsOf(without(stored, query.skip ?? []), query.parts)),
    continue: rest.length > page.length && last !== undefined ? encodeContinue(query, positionOf(last)) : undefined,
    total: query.count === 'yes' ? matching.length : undefined,
  };
}

function fitting(entries: readonly MemoryEntry[], most = Number.POSITIVE_INFINITY): readonly MemoryEntry[] {
  let bytes = 0;
  const beyond = entries.findIndex(({ stored }) => (bytes += Buffer.byteLength(stored.json)) > most);
  return beyond < 0 ? entries : entries.slice(0, Math.max(1, beyond));
}

function partsOf(stored: StoredObject, parts: ListQuery['parts']): StoredObject {
  return parts === 'json' ? { ...stored, proto: new Uint8Array(), labels: {}, annotations: {} } : stored;
}

function comparePositions(orders: readonly Order[], left: Position, right: Position): number {
  for (const [index, { direction }] of orders.entries()) {
    const difference = compareValues(left.values[index] ?? null, right.values[index] ?? null);
    if (difference !== 0) return signOf(direction) * difference;
  }
  return signOf(orders.at(-1)?.direction) * compareValues(left.uid, right.uid);
}

function signOf(direction: Order['direction'] | undefined): number {
  return direction === 'ascending' ? 1 : -1;
}

function without(stored: StoredObject, skip: readonly string[]): StoredObject {
  skippedPaths(skip);
  if (skip.length === 0) return stored;
  const object = skip.reduce(
    (rest, path) => withoutPath(rest, path.split('.')),
    parseLossless(stored.json) as JsonObject,
  );
  return { ...stored, json: JSON.stringify(object), proto: new Uint8Array() };
}

function withoutPath(object: JsonObject, [step = '', ...rest]: readonly string[]): JsonObject {
  const { [step]: child, ...others } = object;
  if (rest.length === 0) return others;
  return isJsonObject(child) ? { ...object, [step]: withoutPath(child, rest) } : object;
}

/** NULL first, as MySQL orders. */
export function compareValues(left: Value, right: Value): number {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? -1 : 1;
  return left < right ? -1 : 1;
}

export function matches(kind: KindDefinition, query: ListQuery, { row, stored }: MemoryEntry): boolean {
  if (query.states !== undefined) {
    if (!query.states.includes(stored.state)) return false;
  } else if (query.deleted !== 'included' && stored.deleteTime !== undefined) return false;
  if (query.namespace !== undefined && query.namespace !== row.namespace) return false;
  if (query.namespaces?.includes(row.namespace) === false) return false;
  return pairsHold(query, { row, stored }) && (query.where === undefined || holds(kind, row, query.where));
}

function pairsHold({ labels = [], annotations = [] }: ListQuery, { row, stored }: MemoryEntry): boolean {
  const labelled = { ...stored.labels, ...Object.fromEntries(row.owners ?? []) };
  return (
    labels.every((requirement) => labelHolds(requirement, labelled)) &&
    annotations.every((requirement) => labelHolds(requirement, stored.annotations))
  );
}

function holds(kind: KindDefinition, row: ObjectRow, condition: Condition): boolean {
  if ('all' in condition) return condition.all.map((part) => holds(kind, row, part)).every((part) => part);
  if ('any' in condition) return condition.any.map((part) => holds(kind, row, part)).some((part) => part);
  const spread = withDays(queryField(kind, condition.field), condition);
  return 'field' in spread ? fieldHolds(kind, valueOf(kind, row, condition.field), spread) : holds(kind, row, spread);
}

function fieldHolds(kind: KindDefinition, value: Value, condition: FieldCondition): boolean {
  const field = queryField(kind, condition.field);
  if (!('value' in condition) && !('values' in condition))
    return (value === null) === (condition.operator === 'isNull');
  if ('values' in condition) {
    const listed = condition.values.map((one) => comparable(field, fieldValue(field, one)));
    return condition.operator === 'in'
      ? value !== null && listed.includes(value)
      : value === null || !listed.includes(value);
  }
  if (condition.operator === 'like') return likeHolds(value, String(condition.value));
  const wanted = comparable(field, fieldValue(field, condition.value));
  if (condition.operator === '!=') return value !== wanted;
  if (value === null) return false;
  const difference = compareValues(value, wanted);
  const byOperator = {
    '=': difference === 0,
    '>': difference > 0,
    '>=': difference >= 0,
    '<': difference < 0,
    '<=': difference <= 0,
  };
  return byOperator[condition.operator];
}

function likeHolds(value: Value, pattern: string): boolean {
  if (/^[%_]/.test(pattern)) throw new QueryUnsupportedError('a pattern that begins with a wildcard', []);
  const source = pattern.replaceAll(/\\?([\s\S])/gu, (part, character: string) => {
    const wildcard = part === '%' ? '.*' : part === '_' ? '.' : undefined;
    return wildcard ?? character.replace(/[.*+?^${}()|[\]\\]/, String.raw`\$&`);
  });
  return value !== null && new RegExp(`^${source}$`, 'su').test(String(value));
}

/** As the column has it: times all have six digits, and booleans are numbers. */
function comparable({ type }: QueryField, value: string | number | boolean): string | number {
  if (type === 'time') return toSqlTime(String(value));
  return typeof value === 'boolean' ? Number(value) : value;
}

function valueOf(kind: KindDefinition, row: ObjectRow, name: string): Value {
  return columnOf(kind, row, queryField(kind, name));
}

export function columnOf(kind: KindDefinition, row: ObjectRow, field: QueryField): Value {
  const { column } = field;
  const base: Readonly<Record<string, string>> = {
    name: row.name,
    namespace: row.namespace,
    uid: row.key ?? row.uid,
    create_time: toSqlTime(row.createTime),
    update_time: '',
  };
  if (column in base) return base[column] ?? '';
  const value = row.columns[kind.indexes.flat().findIndex((one) => one.name === column)] ?? null;
  return value === null ? null : comparable(field, value);
}
