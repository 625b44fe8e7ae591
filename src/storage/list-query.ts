// What can be asked of the stored objects of one kind. Everything asked is answered or refused, never ignored.

/** As in Kubernetes: `notIn` (and so `!=`) also holds for objects without the key. `=` is `in` with one value. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: 'in' | 'notIn'; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: 'exists' | 'notExists' };

export type FieldValue = string | number | boolean;

/** A field is a base field (`metadata.name`), the JSON path of an indexed column or the name of the column. */
export type FieldCondition =
  | { readonly field: string; readonly operator: 'isNull' | 'isNotNull' }
  | { readonly field: string; readonly operator: 'in' | 'notIn'; readonly values: readonly FieldValue[] }
  | {
      readonly field: string;
      readonly operator: '=' | '!=' | '>' | '>=' | '<' | '<=' | 'like';
      readonly value: FieldValue;
    };

/** The tree of conditions of the original's ListOptionsExt. An empty `all` holds, an empty `any` does not. */
export type Condition =
  | FieldCondition
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] };

export interface Order {
  readonly field: string;
  readonly direction: 'ascending' | 'descending';
}

export interface ListQuery {
  /** All namespaces where it is missing. */
  readonly namespace?: string;
  readonly labels?: readonly LabelRequirement[];
  readonly where?: Condition;
  /** The newest first, unless said otherwise. Equal values are ordered by uid, so that pages never overlap. */
  readonly order?: Order;
  /** 1 to 1000, 100 unless said otherwise. */
  readonly limit?: number;
  /** Of the page before; good for the same query only. */
  readonly continue?: string;
  /** `present` leaves out the deleted ones and is the default. */
  readonly deleted?: 'present' | 'included';
  /** Asks for `total`, which costs a walk over everything that matches. */
  readonly count?: 'yes' | 'no';
}

export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;
export const newestFirst: Order = { field: 'metadata.creationTimestamp', direction: 'descending' };
