// One reconcile as a pure function: specification, status, observed state and time → next status and desired state. The
// caller writes the status first and changes the cluster afterwards, so a crash between any two writes leaves a status that
// says what was intended, and the next reconcile continues from there.
import type { ChangeClass } from '../../api/ingester/schema.ts';
import { type ComponentName, componentNames, type IngesterSpec } from '../../api/ingester/spec.ts';
import type { Attempt, IngesterStatus, LifecycleStatus, Target } from '../../api/ingester/status.ts';
import { sameJson } from '../../base/json.ts';
import { checkApproval, type Refusal, specHash } from './approval.ts';
import { classOfChange } from './changes.ts';
import { takenText } from './conditions.ts';
import { noteChangedOver, served } from './credentials.ts';
import { type DesiredState, desiredStateOf, type JobInput, knownTo, mayServe, serveAgain } from './desired-state.ts';
import { advanceMaintenance } from './maintenance.ts';
import { isActive, type ObservedState, type PlanEvent } from './observed.ts';
import { type Due, pendingSteps, quiesceNeeded } from './pending.ts';
import { nextPhase, type PipelineInput } from './pipeline.ts';
import { rollBack, willRollBack } from './rollback.ts';
import { advanceStep, staysFailed, stepOfStatus, superseded } from './run-step.ts';
import { advanceSchedule } from './schedule.ts';
import { pollMs } from './settings.ts';
import { advanceSnapshots } from './snapshots.ts';
import { summarize } from './summary.ts';
import { kindOf, knownOf, noteTarget } from './target.ts';

export interface PlanInput {
  readonly uid: string;
  readonly generation: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** Undefined where the specification is not valid; `problems` says why. */
  readonly spec: IngesterSpec | undefined;
  readonly problems: readonly string[];
  readonly suspended: boolean;
  /** While suspended the components have no pods. */
  readonly scaledToZero?: boolean;
  readonly status: IngesterStatus;
  /** The version that an earlier resource of this name was migrated to; looked up while the status has no target. */
  readonly recordedVersion?: string | undefined;
  readonly observed: ObservedState;
  /** Names of desired objects that objects of other owners have, as `Kind/name`. */
  readonly taken?: readonly string[];
  /** Hashes of what would be applied for a specification. */
  readonly rendered: Rendered;
  readonly now: Date;
}

export interface Rendered {
  readonly component: (name: ComponentName, spec: IngesterSpec) => string;
  readonly pod: (job: JobInput) => string;
}

export interface Plan {
  readonly status: IngesterStatus;
  /** Undefined: nothing in the cluster is changed. */
  readonly desired: DesiredState | undefined;
  readonly events: readonly PlanEvent[];
  readonly requeueMs: number;
}

export function plan(input: PlanInput): Plan {
  const events: PlanEvent[] = [];
  const emit = (event: PlanEvent): void => {
    events.push(event);
  };
  const { status, now, taken: names = [] } = input;
  if (names.length > 0) emit({ reason: 'NameTaken', note: takenText(names) });
  const asked = input.suspended ? undefined : askedTarget(input);
  if (asked === undefined) return leaveUnchanged(input);
  const known = advanceSnapshots(advanceSchedule(knownOf(status, asked.spec), asked.spec, now), asked.spec, now);
  const approval = checkApproval({ ...input, asked, lifecycle: known, recordedVersion: input.recordedVersion, emit });
  if (approval.target === undefined) return leaveUnchanged(input, { events, refusal: approval.refusal });
  const upgraded = withUpgrade(known, approval.upgrade, specHash(asked.spec));
  const rollback = rollBack({ ...input, asked, target: approval.target, lifecycle: upgraded, emit });
  const noted = rollback.refusal === undefined ? noteTarget({ ...input, ...rollback, emit }) : rollback.lifecycle;
  const progress = advance({ ...input, ...rollback, lifecycle: noted, emit });
  const { lifecycle, due, target } = progress;
  const next: IngesterStatus = { ...progress.status, target, lifecycle };
  const refusal = rollback.refusal ?? approval.refusal;
  const summary = summarize({ ...input, next, due, ...(refusal === undefined ? {} : { refusal }) });
  return {
    status: summary,
    desired: desiredStateOf({ ...input, lifecycle, due, target }),
    events: events.filter((event) => isNews(event, status)),
    requeueMs: requeueAfter(lifecycle, now),
  };
}

interface NoChange {
  readonly events: readonly PlanEvent[];
  readonly refusal: Refusal | undefined;
}

function leaveUnchanged(input: PlanInput, { events, refusal }: NoChange = { events: [], refusal: undefined }): Plan {
  const { status } = input;
  const refused = refusal === undefined ? {} : { refusal };
  return {
    status: summarize({ ...input, next: status, due: [], ...refused }),
    desired: undefined,
    events: events.filter((event) => isNews(event, status)),
    requeueMs: pollMs,
  };
}

/** An invalid specification is skipped: the last valid one stays the target. */
function askedTarget({ spec, generation, status }: PlanInput): Target | undefined {
  return spec === undefined ? status.target : { spec, generation };
}

function withUpgrade(lifecycle: LifecycleStatus, upgrade: LifecycleStatus['upgrade'], asked: string): LifecycleStatus {
  const { upgrade: _, rejected, rejectedBecause = 'failed', ...rest } = lifecycle;
  return {
    ...rest,
    ...(upgrade === undefined ? {} : { upgrade }),
    // Another specification makes a fresh start.
    ...(rejected === asked ? { rejected, rejectedBecause } : {}),
  };
}

interface PlanContext extends PlanInput {
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly emit: (event: PlanEvent) => void;
}

interface Progress {
  readonly status: IngesterStatus;
  readonly lifecycle: LifecycleStatus;
  readonly target: Target;
  readonly due: readonly Due[];
}

function advance(input: PlanContext): Progress {
  const { target, status } = input;
  const before = advanceMaintenance(input);
  const first = dueFor(input, before, status.migratedVersion);
  const conditions = pipelineInput(input, before, first);
  const pipeline = nextPhase(before.pipeline, conditions);
  const entered =
    pipeline === before.pipeline ? before : enter({ ...input, lifecycle: before }, { ...before, pipeline }, first);
  const due = dueFor(input, entered, status.migratedVersion);
  const [head] = due;
  const ended = pipeline === 'Settled' && conditions.ready && !conditions.pending;
  if (ended) return settle(input, entered);
  if (pipeline === 'Tasks' && head !== undefined) return runStep(input, entered, head);
  const serves = pipeline === 'Failed' && !willRollBack({ status, target, lifecycle: entered });
  const after = serves ? serveAgain({ ...input, lifecycle: entered, due }) : entered;
  return { status, lifecycle: withPhase(after, due), target, due };
}

function runStep(input: PlanContext, lifecycle: LifecycleStatus, head: Due): Progress {
  const { target, observed, status, now, emit } = input;
  const outcome = advanceStep({
    spec: target.spec,
    status,
    lifecycle,
    due: head,
    jobs: observed.jobs,
    podHash: podOf(input, lifecycle, head),
    now,
    emit,
  });
  const migratedVersion = outcome.migratedVersion ?? status.migratedVersion;
  const due = dueFor(input, outcome.lifecycle, migratedVersion);
  return {
    status: { ...status, ...(migratedVersion === undefined ? {} : { migratedVersion }) },
    lifecycle: withPhase(outcome.lifecycle, due),
    target,
    due,
  };
}

function dueFor(
  { uid, target }: PlanContext,
  lifecycle: LifecycleStatus,
  migratedVersion: string | undefined,
): readonly Due[] {
  return pendingSteps({ uid, spec: target.spec, lifecycle, migratedVersion });
}

function pipelineInput(input: PlanContext, lifecycle: LifecycleStatus, due: readonly Due[]): PipelineInput {
  const { observed, target, status } = input;
  const [head] = due;
  const run = head === undefined ? undefined : stepOfStatus(lifecycle, head)?.run;
  const running = head !== undefined && stepOfStatus(lifecycle, head)?.state === 'Running';
  const failed = head !== undefined && staysFailed(head, lifecycle, target.spec, podOf(input, lifecycle, head));
  return {
    changed: status.stable === undefined || restarts.has(classOfChange(status.stable.spec, target.spec)),
    pending: due.length > 0,
    quiesceNeeded: quiesceNeeded(due, target.spec),
    quiesces: lifecycle.attempt?.quiesces ?? false,
    quiesced: componentNames.every((name) => !observed.components[name].exists && observed.components[name].pods === 0),
    idle: !observed.jobs.some((job) => isActive(job) && !(running && job.run === run)),
    failed,
    ready: isReady(input, lifecycle),
    blocks: !mayServe(due),
  };
}

const restarts: ReadonlySet<ChangeClass | undefined> = new Set(['upgrade', 'restore']);

function podOf({ rendered, target }: PlanContext, lifecycle: LifecycleStatus, { step }: Due): string {
  return rendered.pod({ spec: served(target.spec, lifecycle), step: step.name, known: knownTo(target, lifecycle) });
}

/** Every component is as the target says, and the Deployment controller has observed its newest generation. */
function isReady({ observed, target, rendered }: PlanContext, lifecycle: LifecycleStatus): boolean {
  const { components = {} } = target.spec;
  const answered = components.query === undefined || (observed.service === 'query' && !lifecycle.maintenance);
  const serving = served(target.spec, lifecycle);
  return (
    answered &&
    componentNames.every((name) => {
      const component = observed.components[name];
      if (components[name] === undefined) return !component.exists && component.pods === 0;
      const { exists, deleting, generationObserved, desired, ready, updated, available, applied } = component;
      const full = ready >= desired && updated >= desired && available >= desired;
      return exists && !deleting && generationObserved && full && applied === rendered.component(name, serving);
    })
  );
}

/** Called when a phase begins. */
function enter(input: PlanContext, lifecycle: LifecycleStatus, due: readonly Due[]): LifecycleStatus {
  const { now, emit, target, observed, status } = input;
  const needsQuiesce = quiesceNeeded(due, target.spec);
  const known = input.lifecycle.pipeline === 'Settled' ? undefined : lifecycle.attempt;
  const begun = known === undefined;
  const attempt: Attempt = begun
    ? {
        id: `${target.generation}-${lifecycle.runs + 1}`,
        kind: kindOf(status, target),
        startedAt: now.toISOString(),
        quiesces: needsQuiesce,
        mayHaveMigrated: false,
      }
    : { ...known, quiesces: known.quiesces || needsQuiesce };
  if (begun)
    emit({
      reason: 'AttemptStarted',
      note: `${attempt.kind} to ${target.spec.version} (${attempt.id})`,
    });
  // Every Job is stopped.
  if (lifecycle.pipeline === 'Stopping') return { ...superseded(lifecycle), attempt };
  if (lifecycle.pipeline === 'Restoring') emit({ reason: 'Restoring', note: 'all tasks are done' });
  if (lifecycle.pipeline !== 'Quiescing') return { ...lifecycle, attempt };
  emit({
    reason: 'QuiescingStarted',
    note: 'the components are removed, so that nothing but the tasks writes to the database',
  });
  const wantsPage = target.spec.lifecycle?.maintenancePage !== undefined && observed.components.query.exists;
  return {
    ...lifecycle,
    attempt,
    quiesceStartedAt: now.toISOString(),
    maintenance: lifecycle.maintenance || wantsPage,
  };
}

/** The target runs well: from now on it is the one to roll back to. */
function settle(input: PlanContext, entered: LifecycleStatus): Progress {
  const { status, target, emit } = input;
  const wasUnderWay = input.lifecycle.pipeline !== 'Settled';
  if (wasUnderWay) emit({ reason: 'Settled', note: `${target.spec.version} runs` });
  const { attempt: _, quiesceStartedAt: __, restorePoint: ___, ...rest } = superseded(entered);
  const alone = Object.values(input.observed.components).every(({ pods, desired }) => pods === desired);
  const lifecycle = noteChangedOver(target.spec, { ...rest, phase: 'Complete' }, alone);
  const stable = sameJson(status.stable?.spec, target.spec) ? (status.stable ?? target) : target;
  return { status: { ...status, stable, version: target.spec.version }, lifecycle, target, due: [] };
}

function withPhase(lifecycle: LifecycleStatus, due: readonly Due[]): LifecycleStatus {
  const shown = lifecycle.pipeline === 'Tasks' ? due[0]?.step.phase : lifecycle.pipeline;
  return { ...lifecycle, phase: shown === 'Settled' ? 'Complete' : (shown ?? 'Restoring') };
}

/** An event that repeats what the status says already is not emitted again. */
function isNews({ reason, note }: PlanEvent, { conditions = [] }: IngesterStatus): boolean {
  if (reason === 'NameTaken') return !conditions.some(({ message }) => message.includes(note));
  return reason !== 'DowngradeBlocked' || !conditions.some((condition) => condition.reason === reason);
}

function requeueAfter({ pipeline, nextScheduleAt, snapshotSchedule }: LifecycleStatus, now: Date): number {
  if (pipeline !== 'Settled') return pollMs;
  const ticks = [nextScheduleAt, snapshotSchedule?.next].filter((tick) => tick !== undefined);
  const waits = ticks.map((tick) => Math.max(1000, Date.parse(tick) - now.getTime()));
  return Math.min(15_000, ...waits);
}
