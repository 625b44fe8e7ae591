// The desired state of the cluster, from the next status and the steps that are due.
import { decisions } from '../../api/ingester/decisions.ts';
import type { IngesterSpec, RestoreSpec } from '../../api/ingester/spec.ts';
import type { Credentials, IngesterStatus, LifecycleStatus, StepName, Target } from '../../api/ingester/status.ts';
import { served } from './credentials.ts';
import type { ObservedState, PlanEvent } from './observed.ts';
import { type Due, quiesceNeeded } from './pending.ts';
import { stepOfStatus } from './run-step.ts';
import { spreadMs } from './settings.ts';
import { referencedSnapshots } from './snapshots.ts';

/** What a Job is rendered from. */
export interface JobInput {
  /** As for components: with the credentials that are in use. */
  readonly spec: IngesterSpec;
  readonly step: StepName;
  readonly known?: Known;
}

/** What a Job takes from the status. */
export interface Known {
  /** Credentials that are being rotated. */
  readonly credentials?: Credentials | undefined;
  readonly restore?: RestoreSpec | undefined;
  /** Snapshots that retention keeps. */
  readonly referenced?: readonly string[];
}

/** Applying any part of it again changes nothing. */
export interface DesiredState {
  /** `keep` neither creates, nor changes, nor removes. */
  readonly components: 'apply' | 'keep' | 'remove';
  readonly service: 'query' | 'maintenance';
  readonly maintenance: 'apply' | 'keep' | 'remove';
  /** The one Job that may run; every other that runs is stopped. */
  readonly job: (Omit<JobInput, 'spec'> & { readonly run: string }) | undefined;
  readonly spec: IngesterSpec;
  /** The specification that components and tasks are rendered from: with the credentials that are in use. */
  readonly serving: IngesterSpec;
  /** Annotations whose decision is recorded in the status. */
  readonly removeAnnotations: readonly string[];
}

export interface DesiredStateInput {
  readonly annotations: Readonly<Record<string, string>>;
  /** As it was before this reconcile. */
  readonly status: IngesterStatus;
  readonly observed: ObservedState;
  readonly now: Date;
  /** The next status. */
  readonly lifecycle: LifecycleStatus;
  readonly target: Target;
  readonly due: readonly Due[];
}

export function desiredStateOf(input: DesiredStateInput): DesiredState {
  const { lifecycle, target, due, annotations, status } = input;
  const [head] = due;
  const known = head === undefined ? undefined : stepOfStatus(lifecycle, head);
  const runs = lifecycle.pipeline === 'Tasks' && known?.state === 'Running' && known.run !== undefined;
  const decided = status.lifecycle?.upgrade;
  return {
    components: componentsOf(input),
    service: lifecycle.maintenance && input.observed.maintenance.ready ? 'maintenance' : 'query',
    maintenance: maintenanceOf(input),
    job:
      runs && head !== undefined
        ? { step: head.step.name, run: known.run ?? '', known: knownTo(target, lifecycle) }
        : undefined,
    spec: target.spec,
    serving: served(target.spec, lifecycle),
    removeAnnotations: decisions
      .filter(({ token }) => decided?.decision !== undefined && annotations[token] === decided.token)
      .flatMap(({ token, by }) => [token, by]),
  };
}

/** What a Job takes from the status. */
export function knownTo({ spec }: Target, lifecycle: LifecycleStatus): Known {
  const { credentials, restore } = lifecycle;
  return { credentials, restore, referenced: referencedSnapshots(spec, lifecycle) };
}

function componentsOf(input: DesiredStateInput): DesiredState['components'] {
  const { lifecycle, due } = input;
  // Until every node routes to the page, the old pods answer.
  const isEarly = lifecycle.maintenance && !isServedBy('maintenance', input);
  if (lifecycle.pipeline === 'Quiescing') return isEarly ? 'keep' : 'remove';
  const isDown = lifecycle.attempt?.quiesces ?? false;
  if (isDown && !serving.has(lifecycle.pipeline)) return 'remove';
  return mayServe(due) && lifecycle.pipeline !== 'Stopping' ? 'apply' : 'keep';
}

const serving: ReadonlySet<LifecycleStatus['pipeline']> = new Set(['Settled', 'Updating', 'Restoring']);

function maintenanceOf(input: DesiredStateInput): DesiredState['maintenance'] {
  if (input.lifecycle.maintenance) return 'apply';
  // The page is removed when no node routes to it any more.
  return input.observed.service === 'absent' || isServedBy('query', input) ? 'remove' : 'keep';
}

function isServedBy(by: 'query' | 'maintenance', { lifecycle: { served }, now }: DesiredStateInput): boolean {
  return served?.by === by && now.getTime() - Date.parse(served.since) >= spreadMs;
}

const changesSchema: ReadonlySet<StepName> = new Set(['clone', 'restore', 'migrate', 'release']);

/** No component runs against a schema of another version. */
export function mayServe(due: readonly Due[]): boolean {
  return !due.some(({ step }) => changesSchema.has(step.name));
}

export interface ServeInput {
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly due: readonly Due[];
  readonly emit: (event: PlanEvent) => void;
}

/**
 * After the last attempt has failed. Where the database is as the target needs it and no step that is left quiesces
 * writers, the components come up without it: while they are down, no finalizer is removed and every deletion waits.
 */
export function serveAgain({ target, lifecycle, due, emit }: ServeInput): LifecycleStatus {
  const { attempt } = lifecycle;
  if (attempt?.quiesces !== true || quiesceNeeded(due, target.spec) || !mayServe(due)) return lifecycle;
  const left = due.map(({ step }) => step.name).join(', ');
  emit({ reason: 'ServingAgain', note: `the schema is migrated; the components run without ${left}` });
  return { ...lifecycle, attempt: { ...attempt, quiesces: false } };
}
