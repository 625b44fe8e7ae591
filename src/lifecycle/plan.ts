// One pass, pure: what was asked, what is remembered, what was seen, what time it is → what to remember now and what the
// world should be like. The caller writes the status first and changes the world afterwards, so a crash between any two
// writes leaves a status that says what was meant; the next pass goes on from there.
import type { ChangeClass } from '../api/ingester/schema.ts';
import type { ComponentName, IngesterSpec } from '../api/ingester/spec.ts';
import { componentNames } from '../api/ingester/spec.ts';
import type { Attempt, IngesterStatus, LifecycleStatus, Target } from '../api/ingester/status.ts';
import { APPROVE_UPGRADE_ANNOTATION, REJECT_UPGRADE_ANNOTATION } from '../api/names.ts';
import { sameJson } from '../base/same-json.ts';
import { classOfChange } from './changes.ts';
import type { JobInput, Known } from './children/job-input.ts';
import { noteChangedOver, served } from './credentials.ts';
import { type Facts, isActive } from './facts.ts';
import { admit, type Refusal, specHash } from './gate.ts';
import { advanceMaintenance } from './maintenance.ts';
import { type Due, drainNeeded, pendingSteps } from './pending.ts';
import { nextPhase, type PipelineFacts } from './pipeline.ts';
import type { PlanEvent } from './plan-event.ts';
import { advanceStep, staysFailed, stepOfStatus } from './run-step.ts';
import { advanceSchedule } from './schedule.ts';
import { mayServe, serveAgain } from './serving.ts';
import { milliseconds, pollMs, spreadMs } from './settings.ts';
import { advanceSnapshots, referencedSnapshots } from './snapshots.ts';
import { summarize } from './summary.ts';
import { takenText } from './taken.ts';
import { kindOf, knownOf, noteTarget } from './target.ts';

export interface PlanInput {
  readonly uid: string;
  readonly generation: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** Undefined where the specification is not valid; `problems` says why. */
  readonly spec: IngesterSpec | undefined;
  readonly problems: readonly string[];
  readonly suspended: boolean;
  readonly status: IngesterStatus;
  /** The version that was migrated to for a resource of this name before; asked for while the status says nothing. */
  readonly remembered?: string | undefined;
  readonly facts: Facts;
  /** Names that are needed and that others have, as `Kind/name`; looked for once it is known what is needed. */
  readonly taken?: readonly string[];
  /** Hashes of what would be applied for a specification. */
  readonly rendered: Rendered;
  readonly now: Date;
}

export interface Rendered {
  readonly component: (name: ComponentName, spec: IngesterSpec) => string;
  readonly pod: (job: JobInput) => string;
}

/** What the world should be like; every part can be brought about again and again. */
export interface World {
  /** `keep` neither creates, nor changes, nor removes. */
  readonly components: 'apply' | 'keep' | 'remove';
  readonly service: 'query' | 'maintenance';
  readonly maintenance: 'apply' | 'keep' | 'remove';
  /** The one Job that may run; every other that runs is stopped. */
  readonly job: (Omit<JobInput, 'spec'> & { readonly run: string }) | undefined;
  readonly spec: IngesterSpec;
  /** The same as components and tasks are made of it: with the credentials that are in use. */
  readonly serving: IngesterSpec;
  /** Decided on and on record; the annotations have done their work. */
  readonly removeAnnotations: readonly string[];
}

export interface Plan {
  readonly status: IngesterStatus;
  /** Undefined: hands off. */
  readonly world: World | undefined;
  readonly events: readonly PlanEvent[];
  readonly requeueMs: number;
}

export function plan(input: PlanInput): Plan {
  const events: PlanEvent[] = [];
  const emit = (event: PlanEvent): void => {
    events.push(event);
  };
  const { status, now, taken: names = [] } = input;
  if (names.length > 0) emit({ type: 'Warning', reason: 'NameTaken', note: takenText(names) });
  const asked = input.suspended ? undefined : askedTarget(input);
  if (asked === undefined) return handsOff(input);
  const known = advanceSnapshots(advanceSchedule(knownOf(status, asked.spec), asked.spec, now), asked.spec, now);
  const admission = admit({ ...input, asked, lifecycle: known, remembered: input.remembered, emit });
  if (admission.target === undefined) return handsOff(input, { events, refusal: admission.refusal });
  const upgraded = withUpgrade(known, admission.upgrade, specHash(asked.spec));
  const returned = goBack({ ...input, asked, target: admission.target, lifecycle: upgraded, emit });
  const taken = returned.refusal === undefined ? noteTarget({ ...input, ...returned, emit }) : returned.lifecycle;
  const moved = advance({ ...input, ...returned, lifecycle: taken, emit });
  const { lifecycle, due, target } = moved;
  const next: IngesterStatus = { ...moved.status, target, lifecycle };
  const refusal = returned.refusal ?? admission.refusal;
  const summary = summarize({ ...input, next, due, ...(refusal === undefined ? {} : { refusal }) });
  return {
    status: summary,
    world: worldOf({ ...input, lifecycle, due, target }),
    events: events.filter((event) => isNews(event, status)),
    requeueMs: requeueAfter(lifecycle, now),
  };
}

interface Idle {
  readonly events: readonly PlanEvent[];
  readonly refusal: Refusal | undefined;
}

/** Nothing is changed in the cluster. */
function handsOff(input: PlanInput, { events, refusal }: Idle = { events: [], refusal: undefined }): Plan {
  const { status } = input;
  const told = refusal === undefined ? {} : { refusal };
  return {
    status: summarize({ ...input, next: status, due: [], ...told }),
    world: undefined,
    events: events.filter((event) => isNews(event, status)),
    requeueMs: pollMs,
  };
}

/** What is not valid is passed over: what was valid last goes on being brought about. */
function askedTarget({ spec, generation, status }: PlanInput): Target | undefined {
  return spec === undefined ? status.target : { spec, generation };
}

function withUpgrade(lifecycle: LifecycleStatus, upgrade: LifecycleStatus['upgrade'], asked: string): LifecycleStatus {
  const { upgrade: _, rejected, ...rest } = lifecycle;
  return {
    ...rest,
    ...(upgrade === undefined ? {} : { upgrade }),
    // Another specification makes a fresh start.
    ...(rejected === asked ? { rejected } : {}),
  };
}

interface Moving extends PlanInput {
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly emit: (event: PlanEvent) => void;
}

interface Returned {
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly refusal?: Refusal;
}

/** Goes back to what ran well, where the attempt has failed or takes too long and nothing stands in the way. */
function goBack(input: Moving & { readonly asked: Target }): Returned {
  const { target, lifecycle, status, now, asked, emit } = input;
  const { attempt } = lifecycle;
  const stable = status.stable;
  const why = reasonToGoBack(input);
  if (attempt === undefined || stable === undefined || why === undefined) return { target, lifecycle };
  const message = `${target.spec.version} ${why}; going back to ${stable.spec.version}`;
  emit({ type: 'Warning', reason: 'RolledBack', note: message });
  const again: Attempt = { ...attempt, id: `${attempt.id}-back`, kind: 'Rollback', startedAt: now.toISOString() };
  return {
    target: stable,
    lifecycle: { ...lifecycle, attempt: again, rejected: specHash(asked.spec) },
    refusal: { kind: 'Blocked', reason: 'RolledBack', message },
  };
}

function reasonToGoBack({
  target,
  lifecycle,
  status,
  now,
  asked,
}: Moving & { readonly asked: Target }): string | undefined {
  const { attempt, pipeline } = lifecycle;
  const { enabled = true, deadline } = asked.spec.lifecycle?.rollback ?? {};
  if (!enabled || attempt === undefined || !canRollBack(lifecycle, status, target)) return undefined;
  // The target has changed since: the attempt has not had its time yet.
  if (!sameJson(status.target?.spec, target.spec)) return undefined;
  if (pipeline === 'Failed') return 'failed';
  const isLate = now.getTime() - Date.parse(attempt.startedAt) > milliseconds(deadline, '15m');
  return isLate ? 'was not ready in time' : undefined;
}

/** Whether it is possible at all now; `explain` tells. */
export function canRollBack(lifecycle: LifecycleStatus, status: IngesterStatus, target: Target | undefined): boolean {
  const { attempt, pipeline } = lifecycle;
  if (attempt === undefined || status.stable === undefined || pipeline === 'Settled') return false;
  if (attempt.kind === 'Rollback' || attempt.mayHaveMigrated) return false;
  return !sameJson(status.stable.spec, target?.spec);
}

/** The next pass does. */
function goesBack({ status, target }: Moving, lifecycle: LifecycleStatus): boolean {
  return target.spec.lifecycle?.rollback?.enabled !== false && canRollBack(lifecycle, status, target);
}

interface Moved {
  readonly status: IngesterStatus;
  readonly lifecycle: LifecycleStatus;
  readonly target: Target;
  readonly due: readonly Due[];
}

function advance(input: Moving): Moved {
  const { target, facts, status } = input;
  const before = advanceMaintenance(input);
  const first = dueFor(input, before, status.migratedVersion);
  const seen = pipelineFacts(input, before, first);
  const pipeline = nextPhase(before.pipeline, seen);
  const entered =
    pipeline === before.pipeline ? before : enter({ ...input, lifecycle: before }, { ...before, pipeline }, first);
  const due = dueFor(input, entered, status.migratedVersion);
  const [head] = due;
  const ended = pipeline === 'Settled' && seen.ready && !seen.pending;
  if (ended) return settle(input, entered);
  if (pipeline !== 'Tasks' || head === undefined) {
    const after =
      pipeline === 'Failed' && !goesBack(input, entered) ? serveAgain({ ...input, lifecycle: entered, due }) : entered;
    return { status, lifecycle: withPhase(after, due), target, due };
  }
  const podHash = podOf(input, entered, head);
  const { now, emit } = input;
  const outcome = advanceStep({
    spec: target.spec,
    status,
    lifecycle: entered,
    due: head,
    jobs: facts.jobs,
    podHash,
    now,
    emit,
  });
  const migratedVersion = outcome.migratedVersion ?? status.migratedVersion;
  const left = dueFor(input, outcome.lifecycle, migratedVersion);
  return {
    status: { ...status, ...(migratedVersion === undefined ? {} : { migratedVersion }) },
    lifecycle: withPhase(outcome.lifecycle, left),
    target,
    due: left,
  };
}

function dueFor(
  { uid, target }: Moving,
  lifecycle: LifecycleStatus,
  migratedVersion: string | undefined,
): readonly Due[] {
  return pendingSteps({ uid, spec: target.spec, lifecycle, migratedVersion });
}

function pipelineFacts(input: Moving, lifecycle: LifecycleStatus, due: readonly Due[]): PipelineFacts {
  const { facts, target, status } = input;
  const [head] = due;
  const run = head === undefined ? undefined : stepOfStatus(lifecycle, head)?.run;
  const running = head !== undefined && stepOfStatus(lifecycle, head)?.state === 'Running';
  const failed = head !== undefined && staysFailed(head, lifecycle, target.spec, podOf(input, lifecycle, head));
  return {
    changed: status.stable === undefined || restarts.has(classOfChange(status.stable.spec, target.spec)),
    pending: due.length > 0,
    drainNeeded: drainNeeded(due, target.spec),
    drains: lifecycle.attempt?.drains ?? false,
    drained: componentNames.every((name) => !facts.components[name].exists && facts.components[name].pods === 0),
    idle: !facts.jobs.some((job) => isActive(job) && !(running && job.run === run)),
    failed,
    ready: isReady(input, lifecycle),
    blocks: !mayServe(due),
  };
}

const restarts: ReadonlySet<ChangeClass | undefined> = new Set(['upgrade', 'restore']);

function podOf({ rendered, target }: Moving, lifecycle: LifecycleStatus, { step }: Due): string {
  return rendered.pod({ spec: served(target.spec, lifecycle), step: step.name, known: knownTo(target, lifecycle) });
}

/** What a Job has to know of what went before. */
function knownTo({ spec }: Target, lifecycle: LifecycleStatus): Known {
  const { credentials, restore } = lifecycle;
  return { credentials, restore, referenced: referencedSnapshots(spec, lifecycle) };
}

/** As the target says, all of it, and seen by the controllers of the cluster. */
function isReady({ facts, target, rendered }: Moving, lifecycle: LifecycleStatus): boolean {
  const { components = {} } = target.spec;
  const answered = components.query === undefined || (facts.service === 'query' && !lifecycle.maintenance);
  const serving = served(target.spec, lifecycle);
  return (
    answered &&
    componentNames.every((name) => {
      const seen = facts.components[name];
      if (components[name] === undefined) return !seen.exists && seen.pods === 0;
      const wanted = rendered.component(name, serving);
      const full = seen.ready >= seen.desired && seen.updated >= seen.desired && seen.available >= seen.desired;
      return seen.exists && !seen.deleting && seen.observed && full && seen.applied === wanted;
    })
  );
}

/** A phase begins. */
function enter(input: Moving, lifecycle: LifecycleStatus, due: readonly Due[]): LifecycleStatus {
  const { now, emit, target, facts, status } = input;
  const needsDrain = drainNeeded(due, target.spec);
  const known = input.lifecycle.pipeline === 'Settled' ? undefined : lifecycle.attempt;
  const begun = known === undefined;
  const attempt: Attempt = begun
    ? {
        id: `${target.generation}-${lifecycle.runs + 1}`,
        kind: kindOf(status, target),
        startedAt: now.toISOString(),
        drains: needsDrain,
        mayHaveMigrated: false,
      }
    : { ...known, drains: known.drains || needsDrain };
  if (begun)
    emit({
      type: 'Normal',
      reason: 'AttemptStarted',
      note: `${attempt.kind} to ${target.spec.version} (${attempt.id})`,
    });
  if (lifecycle.pipeline === 'Restoring') emit({ type: 'Normal', reason: 'Restoring', note: 'all tasks are done' });
  if (lifecycle.pipeline !== 'Draining') return { ...lifecycle, attempt };
  emit({
    type: 'Normal',
    reason: 'DrainingStarted',
    note: 'the components go, so that tasks have the database to themselves',
  });
  const wantsPage = target.spec.lifecycle?.maintenancePage !== undefined && facts.components.query.exists;
  return { ...lifecycle, attempt, drainStartedAt: now.toISOString(), maintenance: lifecycle.maintenance || wantsPage };
}

/** It runs well: from now on this is what can be gone back to. */
function settle(input: Moving, entered: LifecycleStatus): Moved {
  const { status, target, emit } = input;
  const wasUnderWay = input.lifecycle.pipeline !== 'Settled';
  if (wasUnderWay) emit({ type: 'Normal', reason: 'Settled', note: `${target.spec.version} runs` });
  const { attempt: _, drainStartedAt: __, restorePoint: ___, ...rest } = entered;
  const alone = Object.values(input.facts.components).every(({ pods, desired }) => pods === desired);
  const lifecycle = noteChangedOver(target.spec, { ...rest, phase: 'Complete' }, alone);
  const stable = sameJson(status.stable?.spec, target.spec) ? (status.stable ?? target) : target;
  return { status: { ...status, stable, version: target.spec.version }, lifecycle, target, due: [] };
}

function withPhase(lifecycle: LifecycleStatus, due: readonly Due[]): LifecycleStatus {
  const shown = lifecycle.pipeline === 'Tasks' ? due[0]?.step.phase : lifecycle.pipeline;
  return { ...lifecycle, phase: shown === 'Settled' ? 'Complete' : (shown ?? 'Restoring') };
}

interface Placing extends PlanInput {
  readonly lifecycle: LifecycleStatus;
  readonly target: Target;
  readonly due: readonly Due[];
}

function worldOf(input: Placing): World {
  const { lifecycle, target, due, annotations, status } = input;
  const [head] = due;
  const known = head === undefined ? undefined : stepOfStatus(lifecycle, head);
  const runs = lifecycle.pipeline === 'Tasks' && known?.state === 'Running' && known.run !== undefined;
  const decided = status.lifecycle?.upgrade;
  const isDone = (name: string): boolean => decided?.decision !== undefined && annotations[name] === decided.token;
  return {
    components: componentsOf(input),
    service: lifecycle.maintenance && input.facts.maintenance.ready ? 'maintenance' : 'query',
    maintenance: maintenanceOf(input),
    job:
      runs && head !== undefined
        ? { step: head.step.name, run: known.run ?? '', known: knownTo(target, lifecycle) }
        : undefined,
    spec: target.spec,
    serving: served(target.spec, lifecycle),
    removeAnnotations: [APPROVE_UPGRADE_ANNOTATION, REJECT_UPGRADE_ANNOTATION].filter(isDone),
  };
}

function componentsOf(input: Placing): World['components'] {
  const { lifecycle, due } = input;
  // Until everybody is led to the page, the old pods answer.
  const isEarly = lifecycle.maintenance && !isServedBy('maintenance', input);
  if (lifecycle.pipeline === 'Draining') return isEarly ? 'keep' : 'remove';
  const isDown = lifecycle.attempt?.drains ?? false;
  if (isDown && !serving.has(lifecycle.pipeline)) return 'remove';
  return mayServe(due) && lifecycle.pipeline !== 'Stopping' ? 'apply' : 'keep';
}

const serving: ReadonlySet<LifecycleStatus['pipeline']> = new Set(['Settled', 'Updating', 'Restoring']);

function maintenanceOf(input: Placing): World['maintenance'] {
  if (input.lifecycle.maintenance) return 'apply';
  // The page goes when nobody is led to it any more.
  return input.facts.service === 'absent' || isServedBy('query', input) ? 'remove' : 'keep';
}

function isServedBy(by: 'query' | 'maintenance', { lifecycle: { served }, now }: Placing): boolean {
  return served?.by === by && now.getTime() - Date.parse(served.since) >= spreadMs;
}

/** Repeats of what the status says already are no news. */
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
