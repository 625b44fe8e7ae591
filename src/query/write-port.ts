// What the writes of this API ask of the rest of the program.
import type { KindDefinition } from '../api/kind.ts';
import type { JsonObject } from '../base/json.ts';
import type { CollectionQuery, CollectionResult } from '../storage/bulk.ts';
import type { StoredObject } from '../storage/metadata-storage.ts';

export interface WriteTarget {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
}

export interface RestoreOrder {
  /** Undefined: the evicted incarnation, else the one deleted last. */
  readonly uid: string | undefined;
  readonly dryRun: boolean;
  /** The requesting user. */
  readonly requester: string;
}

export interface DeleteOrder {
  /** Preconditions; undefined: whatever is there. */
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly propagationPolicy: string | undefined;
  readonly dryRun: boolean;
  readonly requester: string;
}

/** Keys with their new values; null removes the key, and instead of the map all keys. */
export type MapPatch = Readonly<Record<string, string | null>> | null;

export interface MetadataPatch {
  /** Preconditions; undefined: whatever is there. */
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Undefined: as it is. */
  readonly labels: MapPatch | undefined;
  readonly annotations: MapPatch | undefined;
}

export interface MetadataOrder extends MetadataPatch {
  readonly dryRun: boolean;
}

export interface CollectionOrder extends Omit<CollectionQuery, 'states'> {
  readonly dryRun: boolean;
  /** Ends it; after the page that is being deleted. */
  readonly signal: AbortSignal;
}

export interface DeletedCollection extends CollectionResult {
  /** Of a dry run: some of those that would go, the newest first. */
  readonly names: readonly string[] | undefined;
}

/** All methods throw QueryError for errors that the caller may see. */
export interface QueryWrites {
  restore(target: WriteTarget, order: RestoreOrder): Promise<JsonObject>;
  /** `marked`: the cluster will let it go. `deleted`: it was in the database only, and is deleted there. */
  delete(target: WriteTarget, order: DeleteOrder): Promise<{ readonly outcome: 'marked' | 'deleted'; uid: string }>;
  /** Labels and annotations of an object that is in the database only; the object after the change. */
  change(target: WriteTarget, order: MetadataOrder): Promise<StoredObject>;
  /** Deletes objects that are in the database only. */
  deleteCollection(kind: KindDefinition, order: CollectionOrder): Promise<DeletedCollection>;
}
