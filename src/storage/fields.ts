// Which fields of a kind can be asked for: those that have a column.

import { commonPrefix, shortNames } from '../api/enum-names.ts';
import type { IndexedColumn, KindDefinition } from '../api/kind.ts';
import { ownValue } from '../base/json.ts';
import { isDay, MOMENT_FORMS, momentOf } from '../base/timestamp.ts';
import { FieldValueError, QueryUnsupportedError } from './errors.ts';
import type { Condition, FieldCondition, FieldValue } from './list-query.ts';

export interface QueryField {
  /** As it was asked for. */
  readonly name: string;
  readonly column: string;
  readonly type: IndexedColumn['type'];
  /** Whether the column can be NULL. */
  readonly optional: boolean;
  /** The names of an enum, where they are known. */
  readonly values?: readonly string[];
}

const baseFields: Readonly<Record<string, Omit<QueryField, 'name'>>> = {
  'metadata.name': { column: 'name', type: 'string', optional: false },
  'metadata.namespace': { column: 'namespace', type: 'string', optional: false },
  'metadata.uid': { column: 'uid', type: 'string', optional: false },
  'metadata.creationTimestamp': { column: 'create_time', type: 'time', optional: false },
  'metadata.updateTimestamp': { column: 'update_time', type: 'time', optional: false },
};

/** The names that `queryField` takes, sorted. */
export function queryFieldNames(kind: KindDefinition): readonly string[] {
  const declared = kind.indexes.flat().map(({ path }) => path.join('.'));
  return [...Object.keys(baseFields), ...declared].sort();
}

export function queryField(kind: KindDefinition, name: string): QueryField {
  const base = ownValue(baseFields, name);
  if (base !== undefined) return { name, ...base };
  const declared = kind.indexes.flat().find((column) => column.name === name || column.path.join('.') === name);
  if (declared === undefined) throw new QueryUnsupportedError(`field "${name.slice(0, 100)}"`, queryFieldNames(kind));
  const { name: column, type, values } = declared;
  return { name, column, type, optional: true, ...(values === undefined ? {} : { values }) };
}

const whatIs = { int: 'a whole number', bool: 'true or false', time: MOMENT_FORMS } as const;

/** The value as the column has it. A value of another type would match by coercion, so it is refused. */
export function fieldValue(field: QueryField, value: FieldValue): string | number | boolean {
  const text = String(value);
  switch (field.type) {
    case 'string':
      return text;
    case 'enum':
      return enumName(field, text);
    case 'int':
      if (/^-?\d{1,10}$/.test(text)) return Number(value);
      break;
    case 'bool':
      if (/^(true|false)$/.test(text)) return text === 'true';
      break;
    case 'time': {
      const moment = momentOf(text);
      if (moment !== undefined) return moment;
    }
  }
  throw new FieldValueError(field.name, text, whatIs[field.type]);
}

/**
 * A name may be written without what all names of its enum begin with, in small letters, with blanks or hyphens. Written whole
 * it may be one that only a newer original knows; its rows have it.
 */
function enumName({ name, values }: QueryField, text: string): string {
  if (values === undefined || text === '') return text;
  const prefix = commonPrefix(values);
  if (text.startsWith(prefix)) return text;
  const word = text.toUpperCase().replaceAll(/[\s-]/g, '_');
  const found = values.find((one) => one === word || one === `${prefix}${word}`);
  if (found !== undefined) return found;
  throw new FieldValueError(name, text, `one of ${shortNames(values)}, with or without ${prefix} before it`);
}

/** A day equals every time in it. In an order it stands for its beginning, as `fieldValue` has it. */
export function withDays({ type }: QueryField, condition: FieldCondition): Condition {
  if (type !== 'time' || !('value' in condition || 'values' in condition)) return condition;
  const { field, operator } = condition;
  const values: readonly FieldValue[] = 'values' in condition ? condition.values : [condition.value];
  const days = values.map(String).filter(isDay);
  if (days.length === 0) return condition;
  const times = values.filter((value) => !isDay(String(value)));
  const ends = days.map((day) => ({ day, end: `${day}T23:59:59.999999Z` }));
  const within = ends.map(({ day, end }) => ({
    all: [
      { field, operator: '>=', value: day },
      { field, operator: '<=', value: end },
    ],
  })) satisfies readonly Condition[];
  const outside = ends.map(({ day, end }) => ({
    any: [
      { field, operator: '<', value: day },
      { field, operator: '>', value: end },
    ],
  })) satisfies readonly Condition[];
  if (operator === '=' || operator === 'in') return { any: [...within, ...among('in', field, times)] };
  if (operator !== '!=' && operator !== 'notIn') return condition;
  return { any: [{ field, operator: 'isNull' }, { all: [...outside, ...among('notIn', field, times)] }] };
}

function among(operator: 'in' | 'notIn', field: string, values: readonly FieldValue[]): readonly Condition[] {
  return values.length === 0 ? [] : [{ field, operator, values }];
}
