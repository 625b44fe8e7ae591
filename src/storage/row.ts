import type { KindDefinition } from '../api/kind.ts';

export type ColumnValue = string | number | boolean | null;

/** One state of one object, ready to be written. Pure data: everything a storage adapter needs and nothing else. */
export interface ObjectRow {
  readonly kind: KindDefinition;
  /** Of the object, not of the row. */
  readonly uid: string;
  /** Of a row that is written for the first time; its uid where this is missing. */
  readonly key?: string;
  readonly groupVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** Decimal text: values beyond 2^53 must survive. */
  readonly resourceVersion: string;
  readonly generation: number;
  /** RFC 3339 in UTC. */
  readonly createTime: string;
  readonly proto: Uint8Array;
  readonly json: string;
  readonly contentHash: string;
  /** One value per column of `kind.indexes.flat()`, in that order. Times are RFC 3339 in UTC. */
  readonly columns: readonly ColumnValue[];
  /** Names of the columns that cannot hold what the object has; the json does. */
  readonly unfit?: readonly string[];
  /** What the json has and the protobuf bytes do not; `unfit` then names the column `proto`. */
  readonly leftOut?: readonly { readonly path: string; readonly expected: string | undefined }[];
  readonly labels: readonly (readonly [key: string, value: string])[];
  /** What the table of the labels has of its owners and its origin (owners.ts); none where it is missing. */
  readonly owners?: readonly (readonly [key: string, value: string])[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
  /** `gateClosing` of the storage before the object was read; a write after a later closing is refused. */
  readonly gateClosing?: string;
}

/**
 * Where an object is; the position in the list is the number in the column. `evicting`: in etcd, and it will end as
 * evicted. `deleted`, `evicted`: it ended, or is about to, and this is its final state. At the same resourceVersion a
 * row only ever moves to the right.
 */
export const rowStates = ['live', 'evicting', 'deleted', 'evicted'] as const;
export type RowState = (typeof rowStates)[number];
