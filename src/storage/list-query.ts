// What can be asked of the stored objects of one kind. Everything asked is answered or refused, never ignored.
import { QueryUnsupportedError } from './errors.ts';
import type { RowState } from './row.ts';

/** As in Kubernetes: `notIn` (and so `!=`) also holds for objects without the key. `=` is `in` with one value. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: 'in' | 'notIn'; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: 'exists' | 'notExists' };

/** Whether an object with these labels fulfils the requirement. */
export function labelHolds(requirement: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case 'notExists':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notIn':
      return value === undefined || !requirement.values.includes(value);
  }
}

export type FieldValue = string | number | boolean;

export function isFieldValue(value: unknown): value is FieldValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** A field is a base field (`metadata.name`), the JSON path of an indexed column or the name of the column. */
export type FieldCondition =
  | { readonly field: string; readonly operator: 'isNull' | 'isNotNull' }
  | { readonly field: string; readonly operator: 'in' | 'notIn'; readonly values: readonly FieldValue[] }
  | {
      readonly field: string;
      readonly operator: '=' | '!=' | '>' | '>=' | '<' | '<=' | 'like';
      readonly value: FieldValue;
    };

/** The text for a `like` pattern in which it means itself. */
export function escapedPattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

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
  /** Only these, at most 1024: those that a user may see. No part of what a continue token belongs to. */
  readonly namespaces?: readonly string[];
  /** Of owners too, by `ownerRequirement` in owners.ts. */
  readonly labels?: readonly LabelRequirement[];
  /**
   * The same of annotations, which have no key of their own: each object that fulfils the rest is asked. More than 100,000
   * are refused.
   */
  readonly annotations?: readonly LabelRequirement[];
  readonly where?: Condition;
  /**
   * The newest first, unless said otherwise; up to four fields. Equal values are ordered by uid, in the direction of the
   * last field, so that pages never overlap. A missing value comes before all others.
   */
  readonly order?: Order | readonly Order[];
  /** 1 to 1000, 100 unless said otherwise. */
  readonly limit?: number;
  /**
   * Dotted paths to leave out of the json, e.g. `status.steps`: smaller answers. With any, the answer has no proto.
   */
  readonly skip?: readonly string[];
  /** `json`: without the proto, and without the labels and annotations that the json has too. */
  readonly parts?: 'all' | 'json';
  /** The page ends before the object whose json would bring it beyond so many bytes, but never without an object. */
  readonly bytes?: number;
  /** Of the page before; good for the same query only. */
  readonly continue?: string;
  /** `present` leaves out the deleted ones and is the default. */
  readonly deleted?: 'present' | 'included';
  /** Only objects in one of these states; `deleted` then counts for nothing. */
  readonly states?: readonly RowState[];
  /** Asks for `total`, which costs a walk over everything that matches. */
  readonly count?: 'yes' | 'no';
}

export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;
/** So many values of one condition. */
export const MOST_VALUES = 256;
/** Where each object that fulfils the rest of a query has to be looked at. */
export const MOST_LOOKED_AT = 100_000;
export const newestFirst: Order = { field: 'metadata.creationTimestamp', direction: 'descending' };

const MOST_ORDERS = 4;

export function refuseLooking(): never {
  throw new QueryUnsupportedError(
    `an annotation of more than ${MOST_LOOKED_AT} objects, which has no key of its own; ask for fewer, by namespace, ` +
      'label, field, owner or time',
    [],
  );
}

/** What a query is ordered by, the default applied. */
export function ordersOf({ order = newestFirst }: ListQuery): readonly Order[] {
  const orders = 'field' in order ? [order] : order;
  if (orders.length <= MOST_ORDERS) return orders.length === 0 ? [newestFirst] : orders;
  throw new QueryUnsupportedError(`an order by more than ${MOST_ORDERS} fields`, []);
}
