// What the lifecycle remembers in an Ingester resource. It is a write-ahead log: what is about to be done is here before
// it is done, so that whoever comes after a crash finishes it.
import type { ComponentName, IngesterSpec, RestoreSpec } from './spec.ts';

export const topPhases = [
  'Initializing',
  'Upgrading',
  'Running',
  'Degraded',
  'Suspended',
  'Blocked',
  'AwaitingApproval',
  'Failed',
] as const;
export type TopPhase = (typeof topPhases)[number];

/** Where the pipeline stands; docs/lifecycle.md draws it. */
export const pipelinePhases = ['Settled', 'Draining', 'Stopping', 'Tasks', 'Updating', 'Restoring', 'Failed'] as const;
export type PipelinePhase = (typeof pipelinePhases)[number];

export const stepNames = [
  'quiesce',
  'snapshot',
  'clone',
  'restore',
  'migrate',
  'release',
  'rotate',
  'init',
  'finish',
  'backup',
] as const;
export type StepName = (typeof stepNames)[number];

export interface StepStatus {
  readonly state: 'Pending' | 'Running' | 'Complete' | 'Failed';
  /** Of the inputs that the run in progress, or the last one, was for. */
  readonly checksum: string;
  /** Of the pod, to try again where only that was mended. */
  readonly podHash?: string;
  /** Name of the run: written here before its Job is created, and on the Job. */
  readonly run?: string;
  readonly attempts: number;
  /** It failed in a way that another attempt cannot mend. */
  readonly final?: boolean;
  readonly nextAttemptAt?: string;
  readonly startedAt?: string;
  readonly completedAt?: string;
  readonly message?: string;
}

export interface Upgrade {
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly fromImage: string;
  readonly toImage: string;
  /** Of everything that the approval is for. */
  readonly content?: string;
  /** The snapshot that it goes back to. */
  readonly snapshot?: string;
  readonly token: string;
  readonly requestedAt: string;
  /** Consumed: approved, and the upgrade has begun; the same way needs another approval. */
  readonly decision?: 'Approved' | 'Consumed' | 'Rejected';
}

export interface Target {
  readonly spec: IngesterSpec;
  readonly generation: number;
}

export interface Attempt {
  readonly id: string;
  readonly kind: 'Install' | 'Upgrade' | 'Change' | 'Rollback';
  readonly startedAt: string;
  readonly drains: boolean;
  /** True from before the first migration of this attempt until it is known that it changed nothing. */
  readonly mayHaveMigrated: boolean;
  /** A clone or a restore of this attempt has begun: that a migration changes nothing means little then. */
  readonly dataReplaced?: boolean;
}

/** Database credentials that took the place of others. */
export interface Credentials {
  /** The Secret that the specification names, and the one that is used instead. */
  readonly from: string;
  readonly to: string;
  /** The Secret whose credentials end. */
  readonly previous: string;
  /** Who ends them. */
  readonly adminSecret: string;
  /** Run that made the new ones valid. */
  readonly run: string;
  readonly state: 'Added' | 'InUse' | 'Ended';
}

export interface SnapshotSchedule {
  readonly next?: string;
  /** The newest tick that has passed. */
  readonly tick?: string;
  /** The first tick that no snapshot has followed. */
  readonly missedSince?: string;
}

export interface LifecycleStatus {
  readonly phase: string;
  readonly pipeline: PipelinePhase;
  readonly attempt?: Attempt;
  /** Runs so far; names the next one. */
  readonly runs: number;
  readonly steps: Readonly<Partial<Record<StepName, StepStatus>>>;
  /** Checksums of the inputs that each step was last completed for. */
  readonly completed: Readonly<Partial<Record<StepName, string>>>;
  /** The writer gate is closed, or about to be. */
  readonly gateHeld: boolean;
  readonly maintenance: boolean;
  /** Where the Service of query has led since when; nodes learn of a change a moment later. */
  readonly served?: { readonly by: 'query' | 'maintenance'; readonly since: string };
  readonly drainStartedAt?: string;
  readonly upgrade?: Upgrade;
  /** Snapshot that the database could be put back to; kept until the attempt has ended well. */
  readonly restorePoint?: string;
  readonly snapshots: readonly string[];
  /** When the newest of them was taken. */
  readonly snapshotAt?: string;
  readonly snapshotSchedule?: SnapshotSchedule;
  /** The restore that is under way, as it was asked for. */
  readonly restore?: RestoreSpec;
  /** Nonces of restores that were begun, or were there when the resource was installed: none of them counts again. */
  readonly restores?: readonly string[];
  /** Hash of the specification that was given up in a rollback, not to be tried again unchanged. */
  readonly rejected?: string;
  readonly credentials?: Credentials;
  readonly lastScheduledAt?: string;
  readonly nextScheduleAt?: string;
}

export interface ComponentStatus {
  readonly phase: 'Pending' | 'Progressing' | 'Ready' | 'Unavailable' | 'Drained';
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  readonly image?: string;
  readonly configChecksum?: string;
  readonly message?: string;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

export interface IngesterStatus {
  readonly observedGeneration?: number;
  readonly phase?: TopPhase;
  readonly ready?: string;
  readonly version?: string;
  readonly migratedVersion?: string;
  /** What is being brought about; the last one that was allowed. */
  readonly target?: Target;
  /** The last one that ran well. */
  readonly stable?: Target;
  readonly lifecycle?: LifecycleStatus;
  readonly components?: Readonly<Partial<Record<ComponentName, ComponentStatus>>>;
  readonly conditions?: readonly Condition[];
}
