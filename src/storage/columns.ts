// Values of the indexed columns, by the rules of the original's generator: a message that is missing on the path gives
// NULL; a field of spec or status itself is never NULL, its zero value is stored; a present message with a missing
// field stores the field's zero value too.
import { columnLength, type IndexedColumn, type KindDefinition } from '../api/kind.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import { formatTimestamp, timestampOf } from '../base/timestamp.ts';
import type { ColumnValue } from './row.ts';

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;
const columnsByKind = new WeakMap<KindDefinition, readonly IndexedColumn[]>();

/** `kind.indexes.flat()`, made once: it is asked for by every write. */
export function indexedColumns(kind: KindDefinition): readonly IndexedColumn[] {
  const known = columnsByKind.get(kind);
  if (known !== undefined) return known;
  const columns = kind.indexes.flat();
  columnsByKind.set(kind, columns);
  return columns;
}

export function columnValues(kind: KindDefinition, object: KubernetesObject): readonly ColumnValue[] {
  return indexedColumns(kind).map((column) => columnValue(column, object));
}

/** Names of the columns that cannot hold what the object has, with the values they got: cut, or NULL. */
export function unfitColumns(
  kind: KindDefinition,
  object: KubernetesObject,
  values: readonly ColumnValue[],
): readonly string[] {
  return indexedColumns(kind)
    .filter((column, index) => !fits(column, valueAt(object, column.path), values[index] ?? null))
    .map(({ name }) => name);
}

function fits(column: IndexedColumn, received: unknown, stored: ColumnValue): boolean {
  if (received === undefined || received === null || received === '') return true;
  const text = column.type === 'string' || column.type === 'enum';
  return text ? typeof received !== 'string' || received === stored : stored !== null;
}

function columnValue(column: IndexedColumn, object: KubernetesObject): ColumnValue {
  const value = valueAt(object, column.path) ?? undefined;
  if (column.type === 'time') return storableTime(value) ?? null;
  if (value === undefined && !parentIsPresent(column.path, object)) return null;
  switch (column.type) {
    case 'string':
    case 'enum':
      return cut(typeof value === 'string' ? value : zeroText(column), columnLength(column));
    case 'int':
      return intValue(value);
    case 'bool':
      return value === true;
  }
}

function zeroText({ type, zero }: IndexedColumn): string {
  return type === 'enum' ? (zero ?? '') : '';
}

function parentIsPresent(path: readonly string[], object: KubernetesObject): boolean {
  const parent = path.slice(0, -1);
  return parent.length === 1 || isJsonObject(valueAt(object, parent));
}

/** VARCHAR counts characters, not UTF-16 units; only the index is cut, never the object. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : Array.from(text).slice(0, length).join('');
}

function intValue(value: unknown): number | null {
  const number = value === undefined ? 0 : Number(value);
  return Number.isInteger(number) && number >= INT32_MIN && number <= INT32_MAX ? number : null;
}

// Times as a DATETIME(6) column can hold them. JSON has more of them, and one that does not fit must not keep an object
// from being stored.
const FIRST_YEAR = 1000;
const LAST_YEAR = 9999;
const FIRST = new Date(Date.UTC(FIRST_YEAR, 0, 1));
const LAST = new Date(Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59));

/** What a row has where its object has no time that can be stored. */
export const NO_TIME = '1970-01-01T00:00:00.0Z';

/** RFC 3339 in UTC with the fraction kept, or undefined where the value is no time that fits. */
export function storableTime(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : textOf(value);
  if (text === undefined) return undefined;
  const time = new Date(text);
  // Not so for what is no time at all.
  const fits = time.getUTCFullYear() >= FIRST_YEAR && time.getUTCFullYear() <= LAST_YEAR;
  if (!fits) return undefined;
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? '0';
  return `${time.toISOString().slice(0, 19)}.${fraction}Z`;
}

/** Of seconds and nanos, as the CRDs have the times of Kubernetes inside spec and status. */
function textOf(value: unknown): string | undefined {
  const time = timestampOf(value);
  return time && formatTimestamp(time);
}

/** The nearest time that fits: a row that has ended must say so. */
export function storableDate(time: Date): Date {
  if (Number.isNaN(time.getTime()) || time < FIRST) return FIRST;
  return time > LAST ? LAST : time;
}
