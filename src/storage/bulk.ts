// What the calls that change more than one state of one object are given, and what they answer.
import type { JsonObject } from '../base/json.ts';
import type { Condition, LabelRequirement } from './list-query.ts';
import type { RowState } from './row.ts';

/** Which rows of a namespace to delete. There is no default for `states`: a live row is an object that is still in etcd. */
export interface CollectionQuery {
  readonly namespace: string;
  readonly states: readonly Exclude<RowState, 'deleted'>[];
  readonly labels?: readonly LabelRequirement[];
  readonly where?: Condition;
  /** Rows at this version only. */
  readonly resourceVersion?: string;
  /** Most rows of this call, 1 to 10,000; 1000 unless said otherwise. */
  readonly limit?: number;
}

export interface CollectionResult {
  readonly deleted: number;
  /** `some`: the limit was reached, or the caller has gone; call again. */
  readonly remaining: 'none' | 'some';
}

export interface UpdateTarget {
  readonly uid: string;
  /** The stored one must be equal. Missing: whatever is stored. */
  readonly resourceVersion?: string;
}

/** What is missing stays as it is; what is given replaces the whole map, but for the keys of this system. */
export interface MetadataChange {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The protobuf form of the changed object, which holds its metadata too. */
  readonly encode: (object: JsonObject) => Uint8Array;
}

export interface BackfillProgress {
  readonly scanned: number;
  readonly changed: number;
  /** To go on after it; undefined before the first row. */
  readonly lastUid: string | undefined;
}

export interface BackfillOptions {
  /** `lastUid` of the progress of a run that was stopped. */
  readonly afterUid?: string;
  /** Rows of one transaction, 1 to 500; 50 unless said otherwise. */
  readonly pageSize?: number;
  /** Milliseconds between two pages, so that writers come first; 20 unless said otherwise. */
  readonly pauseMs?: number;
  /** Stops between two pages. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BackfillProgress) => void;
}

export const DEFAULT_COLLECTION = 1000;
export const DEFAULT_BACKFILL_PAGE = 50;
export const DEFAULT_BACKFILL_PAUSE_MS = 20;
