// The vocabulary of the catalogue: each function is one way the original indexes a field.
import type { ColumnIndex, FieldRule, IndexedColumn, PrintColumn, VersionField } from '../api/kind.ts';
import { ownValue } from '../base/json.ts';
import { enumValues } from './generated/enum-values.ts';

export function text(name: string, path: string, length?: number): ColumnIndex {
  const column: IndexedColumn = { name, path: path.split('.'), type: 'string' };
  return [length === undefined ? column : { ...column, length }];
}

export function int(name: string, path: string): ColumnIndex {
  return [{ name, path: path.split('.'), type: 'int' }];
}

export function bool(name: string, path: string): ColumnIndex {
  return [{ name, path: path.split('.'), type: 'bool' }];
}

export function time(name: string, path: string): ColumnIndex {
  return [{ name, path: path.split('.'), type: 'time' }];
}

export function enumName(name: string, path: string, zero: string): ColumnIndex {
  const column: IndexedColumn = { name, path: path.split('.'), type: 'enum', zero };
  const values = ownValue(enumValues, zero);
  return [values === undefined ? column : { ...column, values }];
}

/** A ResourceIdentifier: two columns, one composite key. */
export function reference(name: string, path: string): ColumnIndex {
  return ['namespace', 'name'].map((part) => ({
    name: `${name}_${part}`,
    path: [...path.split('.'), part],
    type: 'string',
  }));
}

export function print(name: string, path: string, type: PrintColumn['type'] = 'string'): PrintColumn {
  return { name, path, type };
}

export function version(order: Exclude<VersionField['order'], 'terminal'>, path: string): VersionField {
  return { path: path.split('.'), order };
}

export function finalStates(path: string, ...terminal: readonly string[]): VersionField {
  return { path: path.split('.'), order: 'terminal', terminal };
}

export function required(...paths: readonly string[]): readonly FieldRule[] {
  return paths.map((path) => ({ path: path.split('.'), rule: 'required' }));
}

export function uuid(path: string): FieldRule {
  return { path: path.split('.'), rule: 'uuid' };
}

export function range(path: string, minimum: number, maximum?: number): FieldRule {
  const rule: FieldRule = { path: path.split('.'), rule: 'range', minimum };
  return maximum === undefined ? rule : { ...rule, maximum };
}

export function matching(path: string, pattern: string, maxLength?: number): FieldRule {
  const rule: FieldRule = { path: path.split('.'), rule: 'text', pattern };
  return maxLength === undefined ? rule : { ...rule, maxLength };
}

export function oneOf(path: string, ...members: readonly string[]): FieldRule {
  return { path: path.split('.'), rule: 'one-of', members };
}

/** The bounds of every ResourceSpec. */
export function resources(...paths: readonly string[]): readonly FieldRule[] {
  return paths.flatMap((path) => ['cpu', 'gpu', 'fileDescriptors'].map((field) => range(`${path}.${field}`, 0)));
}
