import type { LocalImage } from './image-table.ts';

/** Everything one node has to know; handed over as a file. */
export interface NodeConfiguration {
  readonly name: string;
  /** Of the user `system:node:<name>` in the group `system:nodes`. */
  readonly kubeconfig: string;
  /** Kept over restarts: what runs, and the folders of the pods. */
  readonly stateDirectory: string;
  /** First three numbers of the documentation range (RFC 5737) that its pods and the node itself are known by. */
  readonly addressPrefix: string;
  /** Of the HTTPS server from which the API server reads logs. */
  readonly serving: { readonly certificatePem: string; readonly keyPem: string; readonly clientCaPem: string };
  /** Where a process in a pod reaches the API server. */
  readonly apiServer: { readonly host: string; readonly port: number };
  readonly images: readonly LocalImage[];
  /** What the scheduler may give away. Nothing enforces it. */
  readonly capacity: { readonly cpu: string; readonly memory: string; readonly pods: string };
  readonly timings: NodeTimings;
  /** `private`: containers see volumes at their paths. `shared`: below the folder that POD_ROOT names. */
  readonly mounts: 'private' | 'shared';
  readonly labels: Readonly<Record<string, string>>;
}

export interface NodeTimings {
  /** Wait before the second restart of a container; doubles up to the longest. */
  readonly restartBackoffMs: number;
  readonly longestBackoffMs: number;
  readonly heartbeatMs: number;
  /** How old the content of a Secret or ConfigMap in a volume may be. */
  readonly refreshMs: number;
  /** A token is replaced at this age, or after 80 % of its life, whichever comes first. */
  readonly tokenAgeMs: number;
}

/** What a kubelet does, except that changed Secrets and ConfigMaps arrive sooner. */
export const usualTimings: NodeTimings = {
  restartBackoffMs: 10_000,
  longestBackoffMs: 300_000,
  heartbeatMs: 10_000,
  refreshMs: 2000,
  tokenAgeMs: 24 * 3_600_000,
};
