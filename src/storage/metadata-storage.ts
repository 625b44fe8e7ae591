import type { KindDefinition } from '../api/kind.ts';
import type { Aggregate, AggregateQuery } from './aggregate.ts';
import type {
  BackfillOptions,
  BackfillProgress,
  CollectionQuery,
  CollectionResult,
  MetadataChange,
  UpdateTarget,
} from './bulk.ts';
import type { ListQuery } from './list-query.ts';
import type { ParameterValues, TemplatePage } from './query-templates.ts';
import type { ObjectRow, RowState } from './row.ts';

/**
 * What a write did.
 * - `inserted`, `updated`: the row now holds this state
 * - `unchanged`: the row already held this state
 * - `stale`: the row holds a newer state; nothing was written
 */
export type WriteOutcome = 'inserted' | 'updated' | 'unchanged' | 'stale';

export interface StoredObject {
  /** Of the object. */
  readonly uid: string;
  /** Of the row, where that is not the uid. */
  readonly key?: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly state: RowState;
  /** Seconds resolution is not enough to order writes: RFC 3339 with microseconds. */
  readonly updateTime: string;
  readonly deleteTime: string | undefined;
  readonly evictTime: string | undefined;
  readonly json: string;
  /** SHA-256 of the json with sorted keys, as it was when it was written. */
  readonly contentHash: string;
  readonly proto: Uint8Array;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What tells one stored object from another, and how new it is. */
export interface StoredIdentity {
  /** Of the object. */
  readonly uid: string;
  /** Of the row, where that is not the uid. */
  readonly key?: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly state: RowState;
  /**
   * The original archived the object, so it need not be in the API server. `identities` sets this on `evicting` rows.
   */
  readonly adopted?: true;
  /** The original wrote the row since this program did: it is to be stored again, also at the same version. */
  readonly foreign?: true;
}

/** One of the objects that had a name. */
export interface Incarnation extends StoredIdentity {
  /** RFC 3339 with microseconds. */
  readonly evictTime: string | undefined;
}

export interface IdentityQuery {
  readonly states: readonly RowState[];
  /** Of these objects only; no more than the limit. */
  readonly uids?: readonly string[];
  /** The last key of the page before, which is the uid for most. */
  readonly afterKey?: string;
  /** 1 to 10,000. */
  readonly limit: number;
}

/** The state that was last known of an object whose delete this process did not see, or could not store. */
export interface MissedDelete extends Pick<StoredIdentity, 'uid' | 'resourceVersion'> {
  /** Where the object was created before this, its row is `evicted` whatever was requested, and can be restored. */
  readonly keptBefore?: Date;
}

export interface WatchPosition {
  readonly resourceVersion: string;
  readonly at: Date;
  /** Undefined: all objects of the kind. */
  readonly part?: PositionPart | undefined;
}

/** The buckets whose objects a position is about. */
export interface PositionPart {
  readonly buckets: Iterable<number>;
  /** How many buckets there are. */
  readonly of: number;
  /** The newest version of an object in them; empty where there is none. */
  readonly changed: string;
}

export interface StoredPosition {
  /** As in the kind's `kind`, e.g. `PipelineRun`. */
  readonly kind: string;
  readonly resourceVersion: string;
  /** RFC 3339 with microseconds. */
  readonly at: string;
}

/** An evicted object whose name nothing in etcd uses. */
export interface Tombstone {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** RFC 3339 with microseconds. */
  readonly evictTime: string;
}

export interface TombstoneQuery {
  /** All namespaces where it is missing. */
  readonly namespace?: string;
  /** The last one of the page before. */
  readonly after?: { readonly namespace: string; readonly name: string };
  /** 1 to 10,000. */
  readonly limit: number;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  /** Missing on the last page. */
  readonly continue: string | undefined;
  readonly total: number | undefined;
}

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

/** What only reads. */
export type StorageReads = Pick<
  MetadataStorage,
  | 'positions'
  | 'getById'
  | 'getByName'
  | 'list'
  | 'aggregate'
  | 'identities'
  | 'tombstones'
  | 'incarnations'
  | 'namespaces'
>;

/**
 * The port to the database. Every write is checked: it applies only if its resourceVersion is higher than the stored
 * one, or equal and the row moves on (live, evicting, deleted or evicted). So order of arrival, repeats and stale caches do not
 * matter, and running any call twice is success.
 *
 * A uid is that of an object everywhere. Its row is found by it, whatever the key of the row is.
 *
 * All methods throw the errors of `src/storage/errors.ts` and nothing else.
 */
export interface MetadataStorage {
  /** Stores the state of a living object. */
  upsert(row: ObjectRow): Promise<WriteOutcome>;

  /** Stores the state and the intent to evict; `finish` then means evicted, not deleted. */
  requestEviction(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  /** Soft-deletes on a user's request, whatever was intended before. Writes the row if it is missing. */
  delete(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  /**
   * Stores the final state of an object that is leaving etcd: evicted where eviction was requested or the row is evicted
   * already, else deleted.
   * Later states of an object that other finalizers still hold are stored the same way.
   */
  finish(row: ObjectRow, at: Date): Promise<WriteOutcome>;

  /**
   * Ends a row whose object left the API server unguarded: `evicted` where eviction was requested or `keptBefore` says so,
   * else `deleted`. Only a live or evicting row, at this resourceVersion or an older one: `stale` where it holds a newer state, `unchanged` where
   * it has ended or is missing. The reason is kept in `delete_reason`, at most 255 characters, until a newer state comes.
   */
  markMissedDelete(kind: KindDefinition, object: MissedDelete, at: Date, reason: string): Promise<WriteOutcome>;

  /**
   * Soft-deletes the rows of a namespace that the selector finds, at the resourceVersion they have. Done in pages: after
   * an error a part is deleted, and calling again goes on. Rows whose object changes meanwhile are asked again. The
   * signal ends it: with the statement that looks for rows, or after the page that is being written.
   */
  deleteCollection(
    kind: KindDefinition,
    query: CollectionQuery,
    at: Date,
    signal?: AbortSignal,
  ): Promise<CollectionResult>;

  /**
   * Replaces labels or annotations of an evicted object; everything else stays. Answers its new resourceVersion, which is
   * no version of the API server: never list or watch from it.
   */
  directUpdate(
    kind: KindDefinition,
    target: UpdateTarget,
    change: MetadataChange,
  ): Promise<{ resourceVersion: string }>;

  /**
   * Writes the indexed columns, labels and annotations of every row again from its json, without holding writers up.
   * Running it again, or going on after `lastUid`, is harmless. Resolves when all rows were seen or the signal came.
   */
  backfill(kind: KindDefinition, options?: BackfillOptions): Promise<BackfillProgress>;

  /**
   * Writes the state of an object that is in etcd over whatever the row holds, newer or damaged, if the row is at the
   * expected resourceVersion; else `stale`, also where there is no row. `evicting` keeps the intent to evict. Only for
   * a repair that a user asked for.
   */
  replace(
    row: ObjectRow,
    expectedResourceVersion: string,
    as: { readonly state: 'live' } | { readonly state: 'evicting'; readonly at: Date },
  ): Promise<WriteOutcome>;

  /**
   * Notes up to which resourceVersion everything of the kind is stored. What is neither higher nor later is ignored. Where it
   * says so of a part only, the position of the kind becomes the lowest of all parts, once each has one.
   */
  recordPosition(kind: KindDefinition, position: WatchPosition): Promise<void>;

  /** The last position of each kind that has one. */
  positions(): Promise<readonly StoredPosition[]>;

  /** By kind, the newest version of an object that any part has noted with its position. */
  newestChanges(): Promise<ReadonlyMap<string, string>>;

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined>;

  /** The incarnation that is alive, else the evicted one, else the one deleted last. */
  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined>;

  /**
   * A page of the objects of a kind. What has no index is refused with the list of what has one; a continue token
   * of another query is refused too.
   */
  list(kind: KindDefinition, query: ListQuery): Promise<ListPage>;

  /**
   * Counts and figures over the objects of a kind, in groups of equal values, at most 1000 of them. What has no index, or
   * is sensitive, is refused with the list of what is supported.
   */
  aggregate(kind: KindDefinition, query: AggregateQuery): Promise<Aggregate>;

  /** A page of what a named, parameterised query finds; see docs/storage.md. */
  queryByTemplateId(
    kind: KindDefinition,
    templateId: string,
    parameters: ParameterValues,
    page?: TemplatePage,
  ): Promise<ListPage>;

  /** Rows in these states, ordered by key. */
  identities(kind: KindDefinition, query: IdentityQuery): Promise<readonly StoredIdentity[]>;

  /**
   * What must not be applied again: evicted objects whose name no live or evicting object uses, one per name (the newest
   * incarnation), ordered by namespace and name.
   */
  tombstones(kind: KindDefinition, query: TombstoneQuery): Promise<readonly Tombstone[]>;

  /** All objects that had the name, created last first, by identity: each may be as large as any. `limit`: 1 to 10,000. */
  incarnations(kind: KindDefinition, namespace: string, name: string, limit: number): Promise<readonly Incarnation[]>;

  /** The namespaces that objects of the kind are or were in, sorted; at most so many. */
  namespaces(kind: KindDefinition, limit: number): Promise<readonly string[]>;

  /**
   * The same reads for as long as the signal lets them: once it is aborted they reject, the statement that runs is ended
   * at the server too, and no other is begun.
   */
  until(signal: AbortSignal): StorageReads;

  /** The last closing of the writer gate that this process knows of; undefined before it has looked. */
  readonly gateClosing?: string | undefined;

  /**
   * Stops all writers, in every process, and resolves when no write is under way any more: writes fail with
   * STORAGE_GATE_CLOSED from then on. Closing again under the same name is success; a gate with another holder is an
   * error.
   */
  closeGate(holder: string, reason: string): Promise<void>;

  /** Lets writers write again. Opening an open gate is success; a gate with another holder is an error. */
  openGate(holder: string): Promise<void>;

  /**
   * Proves that the server answers, the credentials work, every table of these kinds is there, this program suits the
   * schema, and the database is not another cluster's. Writes check schema and cluster themselves; a process that only reads calls this at the start and periodically.
   */
  check(kinds: readonly KindDefinition[]): Promise<void>;

  close(): Promise<void>;
}
