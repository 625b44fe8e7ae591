// The vocabulary of the catalogue: each function is one way the original indexes a field.
import type { ColumnIndex, IndexedColumn, PrintColumn } from '../../src/api/kind.ts';

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
  return [{ name, path: path.split('.'), type: 'enum', zero }];
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
