// What changed in the tables of a kind, by time: what a watch is made of.
import type { KindDefinition } from '../api/kind.ts';

export interface ChangedRow {
  /** Of the row: the uid for most. */
  readonly key: string;
  /** RFC 3339 with microseconds: shortly before the change was committed. */
  readonly updateTime: string;
}

export interface ChangedQuery {
  /** Changed at this time or later: RFC 3339. */
  readonly since: string;
  /** The last one of the page before. */
  readonly after?: ChangedRow;
  /** 1 to 10,000. */
  readonly limit: number;
}

export interface ChangeReads {
  /** Rows by the time of their last change, then by key; never their json. */
  changed(kind: KindDefinition, query: ChangedQuery): Promise<readonly ChangedRow[]>;
}
