import type { KindDefinition } from '../api/kind.ts';
import type { ListQuery } from './list-query.ts';
import type { ObjectRow } from './row.ts';

/**
 * What a write did.
 * - `inserted`, `updated`: the row now holds this state
 * - `unchanged`: the row already held this state
 * - `stale`: the row holds a newer state; nothing was written
 */
export type WriteOutcome = 'inserted' | 'updated' | 'unchanged' | 'stale';

export interface StoredObject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly state: 'live' | 'evicting' | 'evicted' | 'deleted';
  /** Seconds resolution is not enough to order writes: RFC 3339 with microseconds. */
  readonly updateTime: string;
  readonly deleteTime: string | undefined;
  readonly evictTime: string | undefined;
  readonly json: string;
  readonly proto: Uint8Array;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  /** Missing on the last page. */
  readonly continue: string | undefined;
  readonly total: number | undefined;
}

/**
 * The port to the database. Every write is guarded: it applies only if its resourceVersion is higher than the stored
 * one, or equal and the row moves on (live, evicting, ended). So order of arrival, repeats and stale caches do not
 * matter, and running any call twice is success.
 *
 * All methods throw the errors of `src/storage/errors.ts` and nothing else.
 */
export interface MetadataStorage {
  /** Stores the state of a living object. */
  upsert(row: ObjectRow): Promise<WriteOutcome>;

  /** Stores the state and the intent to evict; `finish` then means evicted, not deleted. */
  requestEviction(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  /** Soft-deletes on request of a person, whatever was intended before. Writes the row if it is missing. */
  delete(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  /**
   * Stores the final state of an object that is leaving etcd: evicted where eviction was requested, else deleted.
   * Later states of an object that other finalizers still hold are stored the same way.
   */
  finish(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined>;

  /** The incarnation that is alive, else the evicted one, else the one deleted last. */
  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined>;

  /**
   * A page of the objects of a kind. What has no index is refused with the list of what has one; a continue token
   * of another query is refused too.
   */
  list(kind: KindDefinition, query: ListQuery): Promise<ListPage>;

  /**
   * Keeps everybody from writing, in every process, and resolves when no write is under way any more: writes fail with
   * STORAGE_GATE_CLOSED from then on. Closing again under the same name is success; a gate that somebody else holds is
   * an error.
   */
  closeGate(holder: string, reason: string): Promise<void>;

  /** Lets everybody write again. Opening an open gate is success; a gate that somebody else holds is an error. */
  openGate(holder: string): Promise<void>;

  /** Proves that the server answers, the credentials work and every table of these kinds is there. */
  check(kinds: readonly KindDefinition[]): Promise<void>;

  close(): Promise<void>;
}
