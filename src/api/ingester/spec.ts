// The names of the Ingester resource, and its specification. spec-schema.ts describes each field; the compiler keeps the two the same.
import type { JsonObject } from '../../base/json.ts';

/**
 * The resource that describes a whole installation has a group of its own: rights on the group of the ingested kinds do
 * not grant it, and the platform's API server removes from there what it does not know.
 */
export const INGESTER_GROUP = 'ingester.michelangelo.api';
export const INGESTER_VERSION = 'v1';
export const INGESTER_KIND = 'Ingester';
export const INGESTER_PLURAL = 'ingesters';

/** The version that is asked for. */
export const VERSION_PATH: readonly string[] = ['spec', 'version'];

/** The version to which the database was brought by the last migration that succeeded. */
export const MIGRATED_VERSION_PATH: readonly string[] = ['status', 'migratedVersion'];

/**
 * Value of the annotation that permits one downgrade of an Ingester resource, from the migrated version to the requested
 * one. An annotation that stays permits nothing else, not even the same version from a later one.
 */
export function downgradeWay(from: string, to: string): string {
  return `${from}:${to}`;
}

export const componentNames = ['sync', 'query', 'audit'] as const;
export type ComponentName = (typeof componentNames)[number];

export interface IngesterSpec {
  readonly version: string;
  readonly image?: string;
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  readonly imagePullSecrets?: readonly string[];
  readonly environment?: 'Development' | 'Staging' | 'Production';
  readonly suspend?: boolean;
  readonly suspendMode?: 'Pause' | 'ScaleToZero';
  readonly forceReload?: string;
  readonly database: DatabaseSpec;
  readonly kinds?: KindsSpec;
  readonly config?: JsonObject;
  readonly components?: ComponentsSpec;
  readonly podTemplate?: PodSpec;
  readonly networking?: NetworkingSpec;
  readonly monitoring?: MonitoringSpec;
  readonly networkPolicy?: NetworkPolicySpec;
  readonly lifecycle?: LifecycleSpec;
}

export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

export interface DatabaseSpec {
  readonly credentialsSecret: string;
  readonly migrationCredentialsSecret?: string;
  readonly host?: string;
  readonly port?: number;
  readonly name?: string;
  readonly createDatabase?: boolean;
  readonly tls?: { readonly caSecret?: SecretKey };
  readonly encryption?: { readonly key: SecretKey; readonly previousKey?: SecretKey };
  readonly rotation?: RotationSpec;
}

export interface RotationSpec {
  readonly credentialsSecret: string;
  readonly adminSecret: string;
}

export interface KindsSpec {
  readonly names?: readonly string[];
  readonly tableNames?: 'auto' | 'lowercase' | 'snake_case';
  readonly concurrency?: number;
  readonly concurrencyByKind?: Readonly<Record<string, number>>;
  readonly requeuePeriod?: string;
  readonly requeuePeriodByKind?: Readonly<Record<string, string>>;
  readonly deletionDelay?: string;
  readonly deletionDelayByKind?: Readonly<Record<string, string>>;
  readonly evictImmutableKinds?: boolean;
  readonly evictionRules?: readonly JsonObject[];
}

export interface ComponentsSpec {
  readonly sync?: SyncSpec;
  readonly query?: QuerySpec;
  readonly audit?: ComponentSpec;
}

export interface ComponentSpec {
  readonly config?: JsonObject;
  readonly podTemplate?: PodSpec;
}

export interface ScalableSpec extends ComponentSpec {
  readonly replicas?: number;
  readonly autoscaling?: {
    readonly minReplicas?: number;
    readonly maxReplicas: number;
    readonly targetCPUPercent?: number;
    readonly behavior?: JsonObject;
  };
  readonly disruptionBudget?: { readonly minAvailable?: number; readonly maxUnavailable?: number };
}

export interface SyncSpec extends ScalableSpec {
  readonly active?: 'One' | 'All';
}

export interface QuerySpec extends ScalableSpec {
  readonly certificateSecret: string;
}

export interface PodSpec {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly env?: readonly JsonObject[];
  readonly resources?: JsonObject;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly JsonObject[];
  readonly affinity?: JsonObject;
  readonly topologySpreadConstraints?: readonly JsonObject[];
  readonly priorityClassName?: string;
  readonly volumes?: readonly JsonObject[];
  readonly volumeMounts?: readonly JsonObject[];
}

export interface NetworkingSpec {
  readonly hosts: readonly string[];
  readonly ingress?: {
    readonly className?: string;
    readonly tlsSecret?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly httpRoute?: { readonly parentRefs: readonly JsonObject[] };
}

export interface MonitoringSpec {
  readonly interval?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface NetworkPolicySpec {
  readonly extraIngress?: readonly JsonObject[];
}

export const taskNames = ['clone', 'migrate', 'rotate', 'init'] as const;
export type TaskName = (typeof taskNames)[number];

export interface TaskSpec {
  readonly disabled?: boolean;
  readonly command?: readonly string[];
  readonly trigger?: string;
  readonly requiresQuiesce?: boolean;
  readonly timeout?: string;
  readonly maxAttempts?: number;
  readonly backoff?: BackoffSpec;
}

/** Of each wait between attempts: shorter ones are a loop, longer ones no retry. */
export const backoffBounds = { min: '1s', max: '24h' } as const;

/** Waits between attempts. */
export interface BackoffSpec {
  readonly duration?: string;
  readonly factor?: number;
  readonly maxDuration?: string;
}

export interface CloneSpec extends TaskSpec {
  readonly sourceSecret: string;
  readonly sourceKeys?: SecretKey;
  readonly replaceDataOf?: string;
  readonly excludeKinds?: readonly string[];
  readonly excludeNamespaces?: readonly string[];
  readonly postSQL?: readonly string[];
  readonly schedule?: string;
}

export interface RestoreSpec {
  readonly snapshot: string;
  readonly nonce: string;
  readonly replaceDataOf: string;
  readonly discardNewer?: boolean;
}

export interface LifecycleSpec {
  readonly upgradeMode?: 'Automatic' | 'Supervised';
  readonly approvalTimeout?: string;
  readonly stateMode?: 'Stateless' | 'LastState' | 'Savepoint';
  readonly snapshots?: { readonly database: string; readonly keep?: number; readonly schedule?: string };
  readonly restore?: RestoreSpec;
  readonly quiesceTimeout?: string;
  readonly rollback?: { readonly enabled?: boolean; readonly deadline?: string };
  readonly jobRetention?: 'Delete' | 'Retain' | 'RetainOnFailure';
  readonly maintenancePage?: {
    readonly title?: string;
    readonly message?: string;
    readonly retryAfterSeconds?: number;
  };
  readonly podTemplate?: PodSpec;
  readonly clone?: CloneSpec;
  readonly migrate?: TaskSpec;
  readonly rotate?: TaskSpec;
  readonly init?: TaskSpec;
}
