// A row that the original program wrote, and what it becomes. How it is read is up to the part that knows the objects.
import type { KindDefinition } from '../api/kind.ts';
import type { ColumnValue } from './row.ts';

export interface OriginalRow {
  readonly uid: string;
  readonly groupVersion: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly resourceVersion: string;
  /** RFC 3339 with microseconds. */
  readonly createTime: string | undefined;
  readonly deleteTime: string | undefined;
  readonly json: string | null;
  readonly proto: Uint8Array | null;
  /** Only where there is no json. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AdoptedRow {
  /** Of the object. */
  readonly uid: string;
  readonly groupVersion: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** RFC 3339. */
  readonly createTime: string;
  readonly json: string;
  readonly proto: Uint8Array;
  readonly contentHash: string;
  /** As in ObjectRow; undefined where nothing says more than the columns that are there. */
  readonly columns: readonly ColumnValue[] | undefined;
  /** The original evicts such an object, so its end is no deletion. */
  readonly evicting: boolean;
}

/** Must take every row: what cannot be read is kept as it is. */
export type ReadOriginal = (kind: KindDefinition, row: OriginalRow) => AdoptedRow;
