import type { FailingObject } from '../flows/failing-objects.ts';
import type { IncompleteProto } from '../flows/incomplete-protos.ts';

/** What a reconciler says about itself, for `ingester status` and for kubectl. */
export interface IngesterStatus {
  /** RFC 3339, when it was written. */
  readonly at: string;
  /** Which process wrote it. */
  readonly instance: string;
  readonly storage: { readonly problem?: string; readonly since?: string };
  readonly kinds: readonly KindStatus[];
  readonly failingObjects: { readonly count: number; readonly listed: readonly FailingObject[] };
  /** Buckets of objects that no replica owns, where that has lasted and all replicas work. */
  readonly unownedBuckets?: { readonly count: number; readonly since: string };
  /** Missing from versions that do not know them. */
  readonly incompleteProtos?: { readonly count: number; readonly listed: readonly IncompleteProto[] };
  /** Final states on the disk of this process that MySQL does not have yet. */
  readonly spooled: number;
  /** Final states on that disk that MySQL does not take. Missing from versions that do not know them. */
  readonly spoolAside?: number;
}

export interface KindStatus {
  readonly kind: string;
  /** In the API server. */
  readonly objects: number;
  /** Whose last attempt failed. */
  readonly failing: number;
  /** Why nothing is seen of it, where that has lasted. Missing from versions that do not know it. */
  readonly interrupted?: { readonly since: string; readonly reason: string };
  /** When the API server was last found at an earlier version than before, as after a restore of etcd. */
  readonly wentBack?: WentBack;
}

export interface WentBack {
  /** RFC 3339. */
  readonly at: string;
  /** resourceVersions. */
  readonly from: string;
  readonly to: string;
}

/** Which transactions MySQL is known to have confirmed, for the process that works next. */
export interface StorageHistoryStatus {
  /** Names the server. */
  readonly server: string;
  /** GTIDs. */
  readonly seen: string;
  /** Settings under which a crash of its machine, or a failover, loses what it confirmed, e.g. `sync_binlog=0`. */
  readonly weak?: readonly string[];
  /** RFC 3339: when another server answered last than before. */
  readonly failedOverAt?: string;
  readonly wentBack?: StorageWentBack;
}

/** When MySQL was last found without transactions that it had confirmed. */
export interface StorageWentBack {
  /** RFC 3339. */
  readonly at: string;
  /** Servers. */
  readonly from: string;
  readonly to: string;
  /** GTIDs. */
  readonly missing: string;
}

/** The reconciler writes every five or six seconds. Together with the wait for a newer one, 15 seconds at most. */
export const OLD_MS = 8000;

export const STATUS_KEY = 'status.json';
/** Beside the status, because a process that begins must not overwrite it before it has read it. */
export const HISTORY_KEY = 'storage-history.json';
