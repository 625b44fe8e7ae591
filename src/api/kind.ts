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
  /** Names of all its values, for `enum` only; undefined where they are not known. */
  readonly values?: readonly string[];
}

const DEFAULT_LENGTH = 255;

/** Characters that fit a text column. */
export function columnLength(column: IndexedColumn): number {
  return column.length ?? DEFAULT_LENGTH;
}

/** One SQL key: a single column, or the namespace and name of a reference together. */
export type ColumnIndex = readonly IndexedColumn[];

/**
 * How one field of an object says which version it is.
 * - `semver`: a version; where it is none there is no order, and that is worth a warning
 * - `semver-or-name`, `integer-or-name`: a version or number in some objects; anything else has no order
 * - `integer`: a number that grows; missing is 0
 * - `numbered-name`: a name that ends in a number, e.g. `my-model-7`; other names have no order
 * - `flag`: true for good; missing is false
 * - `terminal`: one of `terminal` is where it ends
 */
export interface VersionField {
  readonly path: readonly string[];
  readonly order: 'semver' | 'semver-or-name' | 'integer' | 'integer-or-name' | 'numbered-name' | 'flag' | 'terminal';
  /** Values that are final, for `terminal` only. */
  readonly terminal?: readonly string[];
}

/**
 * What the original's API server checks of a field. A rule below an object that is not there does not count; `*` in a
 * path stands for each value of a map and each item of a list.
 * - `required`: not empty; `uuid`: text of that form
 * - `range`: a number within bounds; missing is 0
 * - `text`: matches the pattern somewhere, and is not longer; missing is empty
 * - `one-of`: the object at the path has at least one of the members
 */
export type FieldRule = { readonly path: readonly string[] } & (
  | { readonly rule: 'required' | 'uuid' }
  | { readonly rule: 'range'; readonly minimum: number; readonly maximum?: number }
  | { readonly rule: 'text'; readonly pattern?: string; readonly maxLength?: number }
  | { readonly rule: 'one-of'; readonly members: readonly string[] }
);

/** What admission does about an older version: refuses it, warns, or does not look. */
export type DowngradeMode = 'deny' | 'warn' | 'off';

export interface PrintColumn {
  readonly name: string;
  /** JSONPath as kubectl wants it, e.g. `.status.state`. */
  readonly path: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
}

/** Where a run says what it is a run of, and when it ended; JSON paths. */
export interface RunFields {
  /** A reference with namespace and name. */
  readonly of?: readonly string[];
  /** RFC 3339. */
  readonly endTime?: readonly string[];
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
  /** For kinds that run and end. When they have ended is the `terminal` field of `versionFields`. */
  readonly run?: RunFields;
  readonly versionFields: readonly VersionField[];
  readonly fieldRules: readonly FieldRule[];
  /** Unless the configuration says otherwise. `off` where going back is a normal thing to do. */
  readonly downgrades: DowngradeMode;
}
