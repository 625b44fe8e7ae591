// Which fields of a kind can be asked for: those that have a column.

import type { IndexedColumn, KindDefinition } from '../api/kind.ts';
import { ownValue } from '../base/json.ts';
import { QueryUnsupportedError } from './errors.ts';
import type { FieldValue } from './list-query.ts';

export interface QueryField {
  readonly column: string;
  readonly type: IndexedColumn['type'];
  /** Whether the column can be NULL. */
  readonly optional: boolean;
}

const baseFields: Readonly<Record<string, QueryField>> = {
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
  if (base !== undefined) return base;
  const declared = kind.indexes.flat().find((column) => column.name === name || column.path.join('.') === name);
  if (declared !== undefined) return { column: declared.name, type: declared.type, optional: true };
  throw new QueryUnsupportedError(`field "${name.slice(0, 100)}"`, queryFieldNames(kind));
}

/** The value as the column has it. A value of another type would match by coercion, so it is refused. */
export function fieldValue({ column, type }: QueryField, value: FieldValue): string | number | boolean {
  switch (type) {
    case 'string':
    case 'enum':
      return String(value);
    case 'int':
      if (/^-?\d{1,10}$/.test(String(value))) return Number(value);
      break;
    case 'bool':
      if (/^(true|false)$/.test(String(value))) return String(value) === 'true';
      break;
    case 'time':
      if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value))) return String(value);
      break;
  }
  throw new QueryUnsupportedError(`a value for ${column} that is no ${type}`, []);
}
