import type { KindDefinition } from '../api/kind.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ChangeReads, StorageReads } from '../storage/metadata-storage.ts';
import type { QueryTemplates } from '../storage/query-templates.ts';
import type { Authenticator } from './authenticate.ts';
import type { Authorizer } from './authorize.ts';
import type { ReadReport } from './report-port.ts';
import type { TimeLimits } from './request-time.ts';
import type { QueryWrites } from './write-port.ts';

/** Reads of a watch beside those of a list. */
export interface QueryStorage {
  until(signal: AbortSignal): StorageReads & ChangeReads;
  readonly gateState?: string | undefined;
}

/** One cluster and its database. Rights are asked of the cluster that an object lives in. */
export interface ClusterParts {
  readonly storage: QueryStorage;
  readonly client: KubeClient;
  readonly writes: QueryWrites;
  readonly authorizer: Pick<
    Authorizer,
    'require' | 'requireEvents' | 'listableNamespaces' | 'listable' | 'listableAmong'
  >;
  readonly readReport: ReadReport;
}

export interface OtherCluster extends ClusterParts {
  /** It has no API server any more: rights are asked of this cluster. */
  readonly isRetired: boolean;
}

export interface AnsweredRequest {
  readonly method: string;
  readonly code: number;
  /** That was asked for; `*` for all of them, empty where the request was about none. */
  readonly cluster: string;
  readonly seconds: number;
}

/** What the query API is made of; the parts are those of the cluster that it runs in. */
export interface QueryAppOptions extends ClusterParts {
  /** By name. */
  readonly others?: ReadonlyMap<string, OtherCluster>;
  readonly kinds: readonly KindDefinition[];
  readonly templates: Pick<QueryTemplates, 'bind' | 'forKind'>;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: QueryLimits;
  /** Ends the watches. */
  readonly stopping?: AbortSignal;
  /** Told of each request once its answer is over. */
  readonly onAnswered?: (answer: AnsweredRequest) => void;
}

export interface QueryLimits extends TimeLimits {
  /** Requests that are answered at once. */
  readonly maxInFlight: number;
  /** Of one user; 0: no limit. */
  readonly userPerSecond: number;
  readonly userBurst: number;
  /** Answers carry a warning where the store was last known to be complete longer ago, in milliseconds. */
  readonly staleMs: number;
}
