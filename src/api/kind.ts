/**
 * How an indexed column gets its value and its SQL type.
 * - `string`: VARCHAR(length, 255 unless given); longer values are cut for the index only
 * - `enum`: VARCHAR(255) with the name of the value; `zero` is the name of value 0
 * - `int`: INT, `bool`: BOOLEAN, `time`: DATETIME(6) in UTC
 */
export type ColumnType = 'string' | 'enum' | 'int' | 'bool' | 'time';

export interface IndexedColumn {
  readonly name: string;
  /** Path of JSON keys from the root of the object, e.g. `['spec', 'owner', 'name']`. */
  readonly path: readonly string[];
  readonly type: ColumnType;
  /** Characters, for `string` only. */
  readonly length?: number;
  /** Name of the enum's value 0, for `enum` only. */
  readonly zero?: string;
}

const DEFAULT_LENGTH = 255;

/** Characters that fit a text column. */
export function columnLength(column: IndexedColumn): number {
  return column.length ?? DEFAULT_LENGTH;
}

/** One SQL key: a single column, or the namespace and name of a reference together. */
export type ColumnIndex = readonly IndexedColumn[];

export interface PrintColumn {
  readonly name: string;
  /** JSONPath as kubectl wants it, e.g. `.status.state`. */
  readonly path: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
}

/** One row of the kind catalogue, from which SQL, CRDs, RBAC and webhook rules are generated. */
export interface KindDefinition {
  readonly kind: string;
  readonly plural: string;
  /** Name of the main table; label and annotation tables add `_labels` and `_annotations`. */
  readonly table: string;
  /** Watched only when the configuration names it. */
  readonly optional: boolean;
  /** The original evicts every object of such a kind; here only when `ingester.evictImmutableKinds` is on. */
  readonly immutable: boolean;
  readonly indexes: readonly ColumnIndex[];
  /** JSON paths of values that no row may hold in the clear. */
  readonly sensitive: readonly (readonly string[])[];
  readonly printColumns: readonly PrintColumn[];
}
