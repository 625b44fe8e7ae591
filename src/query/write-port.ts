// What the two writes of this API ask of the rest of the program.
import type { KindDefinition } from '../api/kind.ts';
import type { JsonObject } from '../base/json.ts';

export interface WriteTarget {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
}

export interface RestoreOrder {
  /** Undefined: the evicted incarnation, else the one deleted last. */
  readonly uid: string | undefined;
  readonly dryRun: boolean;
  /** Who asks. */
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

/** All methods throw QueryError for what the caller can be told. */
export interface QueryWrites {
  restore(target: WriteTarget, order: RestoreOrder): Promise<JsonObject>;
  /** `marked`: the cluster will let it go. `deleted`: it was in the database only, and is deleted there. */
  delete(target: WriteTarget, order: DeleteOrder): Promise<{ readonly outcome: 'marked' | 'deleted'; uid: string }>;
}
