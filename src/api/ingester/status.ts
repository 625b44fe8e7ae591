// The status of an Ingester resource. It is a write-ahead log: the controller writes what it is about to do before it does
// it, so that the next process finishes it after a crash.
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

/** Phases of the pipeline; docs/lifecycle.md draws it. */
export const pipelinePhases = ['Settled', 'Quiescing', 'Stopping', 'Tasks', 'Updating', 'Restoring', 'Failed'] as const;
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
  /** Of the inputs of the current run, or of the last one. */
  readonly checksum: string;
  /** Of the pod template: where only that was corrected, the step is tried again. */
  readonly podHash?: string;
  /** Name of the run: written here before its Job is created, and annotated on the Job. */
  readonly run?: string;
  readonly attempts: number;
  /** It failed in a way that a retry cannot correct. */
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
  /** Hash of everything that the approval is for. */
  readonly content?: string;
  /** The snapshot that it goes back to. */
  readonly snapshot?: string;
  readonly token: string;
  readonly requestedAt: string;
  /** Consumed: approved, and the upgrade has begun; the same upgrade needs another approval. */
  readonly decision?: 'Approved' | 'Consumed' | 'Rejected';
  /** The name of the user at the API server; undefined where no admission has named him. */
  readonly decidedBy?: string;
  readonly decidedAt?: string;
}

export interface Target {
  readonly spec: IngesterSpec;
  readonly generation: number;
}

export interface Attempt {
  readonly id: string;
  readonly kind: 'Install' | 'Upgrade' | 'Change' | 'Rollback';
  readonly startedAt: string;
  readonly quiesces: boolean;
  /** True from before the first migration of this attempt until it is known that it changed nothing. */
  readonly mayHaveMigrated: boolean;
  /** A clone or a restore of this attempt has begun: a migration without changes then proves nothing. */
  readonly dataReplaced?: boolean;
}

/** Database credentials that took the place of others. */
export interface Credentials {
  /** The Secret that the specification names. */
  readonly from: string;
  /** The Secret that is used instead. */
  readonly to: string;
  /** The Secret whose credentials end. */
  readonly previous: string;
  /** The Secret of the user who ends them. */
  readonly adminSecret: string;
  /** The run that made the new ones valid. */
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
  /** Number of runs so far; the next one is named by it. */
  readonly runs: number;
  readonly steps: Readonly<Partial<Record<StepName, StepStatus>>>;
  /** Checksums of the inputs that each step was last completed for. */
  readonly completed: Readonly<Partial<Record<StepName, string>>>;
  /** The writer gate is closed, or about to be. */
  readonly gateHeld: boolean;
  readonly maintenance: boolean;
  /** What the Service of query selects, and since when; nodes learn of a change a moment later. */
  readonly served?: { readonly by: 'query' | 'maintenance'; readonly since: string };
  readonly quiesceStartedAt?: string;
  readonly upgrade?: Upgrade;
  /** Snapshot from before this attempt; kept until the attempt has succeeded. */
  readonly restorePoint?: string;
  readonly snapshots: readonly string[];
  /** When the newest snapshot was taken. */
  readonly snapshotAt?: string;
  readonly snapshotSchedule?: SnapshotSchedule;
  /** The restore that is under way, as the specification had it. */
  readonly restore?: RestoreSpec;
  /** Nonces of restores that were begun, or that the specification had at creation: none of them restores again. */
  readonly restores?: readonly string[];
  /** Hash of the specification that was rolled back; it is not tried again unchanged. */
  readonly rejected?: string;
  /** Why it was rolled back, after its version: `failed: migrate: …`, `was not ready in time: sync: …`. */
  readonly rejectedBecause?: string;
  readonly credentials?: Credentials;
  readonly lastScheduledAt?: string;
  readonly nextScheduleAt?: string;
}

export interface ComponentStatus {
  readonly phase: 'Pending' | 'Progressing' | 'Ready' | 'Unavailable' | 'Quiesced';
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  readonly image?: string;
  readonly configChecksum?: string;
  readonly message?: string;
  /** What belongs to it, as `Kind/name`. */
  readonly objects?: readonly string[];
  /** Those of them that are not there. */
  readonly missing?: readonly string[];
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** From one phase to another. */
export interface Transition {
  /** Undefined: the first one. */
  readonly from?: TopPhase;
  readonly to: TopPhase;
  readonly time: string;
  /** That of the refusal, or of the condition, which explains the phase. */
  readonly reason: string;
}

export interface IngesterStatus {
  readonly observedGeneration?: number;
  readonly phase?: TopPhase;
  readonly ready?: string;
  readonly version?: string;
  readonly migratedVersion?: string;
  /** The specification that the controller applies: the last one that was accepted. */
  readonly target?: Target;
  /** The last target that ran well; a rollback goes back to it. */
  readonly stable?: Target;
  readonly lifecycle?: LifecycleStatus;
  readonly components?: Readonly<Partial<Record<ComponentName, ComponentStatus>>>;
  readonly conditions?: readonly Condition[];
  /** The newest ones, in their order. */
  readonly transitions?: readonly Transition[];
}
