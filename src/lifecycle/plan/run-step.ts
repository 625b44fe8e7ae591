// One step through its attempts. Retries are counted in the status, not by the Job, so neither a restart nor an event
// makes the next one come early.
import type { BackoffSpec, IngesterSpec } from '../../api/ingester/spec.ts';
import type { IngesterStatus, LifecycleStatus, StepName, StepStatus } from '../../api/ingester/status.ts';
import { backoffMs } from '../../base/backoff.ts';
import { noteAdded, noteEnded } from './credentials.ts';
import { isActive, type ObservedJob, type PlanEvent, resultOf, type TaskResult } from './observed.ts';
import type { Due } from './pending.ts';
import { noteRestored } from './restore.ts';
import { milliseconds } from './settings.ts';
import { noteSnapshot } from './snapshots.ts';
import { type StepDefinition, settingsOf, steps } from './steps.ts';

const MAX_ATTEMPTS = 3;
const MESSAGE_LENGTH = 256;
/** Exit codes with which an attempt says that a retry would fail in the same way. */
const POINTLESS: ReadonlySet<number> = new Set([2, 3]);

export interface StepInput {
  readonly spec: IngesterSpec;
  readonly status: IngesterStatus;
  readonly lifecycle: LifecycleStatus;
  readonly due: Due;
  readonly jobs: readonly ObservedJob[];
  readonly podHash: string;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

export interface StepOutcome {
  readonly lifecycle: LifecycleStatus;
  readonly migratedVersion?: string;
}

export function stepOfStatus(lifecycle: LifecycleStatus, { step, checksum }: Due): StepStatus | undefined {
  const known = lifecycle.steps[step.name];
  return known?.checksum === checksum ? known : undefined;
}

/** Whether its last attempt has failed and neither its inputs, nor its pod, nor the limit has changed since. */
export function staysFailed(due: Due, lifecycle: LifecycleStatus, spec: IngesterSpec, podHash: string): boolean {
  const known = stepOfStatus(lifecycle, due);
  return known?.state === 'Failed' && known.podHash === podHash && known.attempts >= maxAttempts(due, spec, known);
}

function maxAttempts({ step }: Due, spec: IngesterSpec, known: StepStatus): number {
  if (step.endless) return Number.POSITIVE_INFINITY;
  // A retry would fail in the same way, whatever the limit.
  if (known.final === true) return 0;
  return settingsOf(step, spec).maxAttempts ?? MAX_ATTEMPTS;
}

export function advanceStep(input: StepInput): StepOutcome {
  const { lifecycle, due, podHash } = input;
  const known = stepOfStatus(lifecycle, due);
  // Completed, and due nevertheless: its result was undone since.
  const isNew = known === undefined || known.state === 'Complete';
  if (isNew || (known.state === 'Failed' && !staysFailed(due, lifecycle, input.spec, podHash))) {
    return begin(input, { state: 'Pending', checksum: due.checksum, podHash, attempts: 0 });
  }
  if (known.state === 'Pending') return begin(input, { ...known, podHash });
  if (known.state === 'Running') return watch(input, known);
  return { lifecycle };
}

/** The run gets its name before its Job is created: after a crash it is clear which Job belongs to it. */
function begin(input: StepInput, known: StepStatus): StepOutcome {
  const { lifecycle, due, jobs, now, emit } = input;
  if (known.nextAttemptAt !== undefined && Date.parse(known.nextAttemptAt) > now.getTime()) {
    return { lifecycle: withStep(lifecycle, due.step.name, known) };
  }
  if (jobs.some(isActive)) return { lifecycle: withStep(lifecycle, due.step.name, known) };
  const runs = lifecycle.runs + 1;
  const { nextAttemptAt: _, message: __, completedAt: ___, ...rest } = known;
  const started: StepStatus = {
    ...rest,
    state: 'Running',
    run: `${due.step.name}-${runs}`,
    startedAt: now.toISOString(),
  };
  emit({
    reason: 'TaskStarted',
    note: `${due.step.name}: attempt ${known.attempts + 1} (${started.run})`,
  });
  return { lifecycle: noteStart(withStep(superseded({ ...lifecycle, runs }), due.step.name, started), input) };
}

/** A run that is stopped, or replaced by another one, no longer counts, whatever its result; the next has another number. */
export function superseded(lifecycle: LifecycleStatus): LifecycleStatus {
  const entries = Object.entries(lifecycle.steps).map(([name, step]) => {
    if (step.state !== 'Running') return [name, step];
    const { run: _, ...rest } = step;
    return [name, { ...rest, state: 'Pending' }];
  });
  return { ...lifecycle, steps: Object.fromEntries(entries) as LifecycleStatus['steps'] };
}

/** Written to the status before it can become true. */
function noteStart(lifecycle: LifecycleStatus, { due: { step }, status }: StepInput): LifecycleStatus {
  const { attempt } = lifecycle;
  if (step.irreversible && attempt !== undefined) {
    // Earlier completions do not hold any more: after a rollback the steps have to run again against this database.
    const completed = without(lifecycle.completed, undoneBy(step));
    const dataReplaced = attempt.dataReplaced === true || step.name !== 'migrate';
    // A resource of this name may have been here before, and may have left the gate closed.
    const gateHeld = lifecycle.gateHeld || (step.name === 'migrate' && status.migratedVersion === undefined);
    return { ...lifecycle, completed, gateHeld, attempt: { ...attempt, mayHaveMigrated: true, dataReplaced } };
  }
  // Whatever the result of this run, the gate may be open from now on.
  if (step.name === 'release') return { ...lifecycle, completed: without(lifecycle.completed, ['quiesce']) };
  if (step.name !== 'quiesce') return lifecycle;
  return { ...lifecycle, gateHeld: true, completed: without(lifecycle.completed, ['release']) };
}

/** A step in the chain of checksums invalidates what follows by its checksum; any other invalidates all that follow. */
function undoneBy(step: StepDefinition): readonly StepName[] {
  if (step.cascades) return [step.name];
  return steps.slice(steps.indexOf(step)).map(({ name }) => name);
}

function watch(input: StepInput, known: StepStatus): StepOutcome {
  const job = input.jobs.find(({ run }) => run === known.run);
  if (job === undefined || job.deleting) return { lifecycle: input.lifecycle };
  if (job.state === 'succeeded') return succeed(input, known, job);
  if (job.state === 'failed') return fail(input, known, job);
  if (job.cannotStart === undefined) return { lifecycle: input.lifecycle };
  return stuck(input, known, job.cannotStart);
}

/** A pod that cannot start is reported, and started again when its template changes; otherwise its deadline ends it. */
function stuck(input: StepInput, known: StepStatus, problem: string): StepOutcome {
  const { lifecycle, due, podHash, emit } = input;
  const { name } = due.step;
  if (known.podHash !== podHash) {
    emit({
      reason: 'TaskRecovering',
      note: `${name}: its pod template was changed; starting it again`,
    });
    return { lifecycle: withStep(lifecycle, name, { ...known, state: 'Pending', podHash }) };
  }
  const message = clip(`cannot start: ${problem}`);
  if (known.message === message) return { lifecycle };
  emit({ reason: 'TaskCannotStart', note: `${name}: ${message}` });
  return { lifecycle: withStep(lifecycle, name, { ...known, message }) };
}

function succeed(input: StepInput, known: StepStatus, job: ObservedJob): StepOutcome {
  const { lifecycle, due, spec, now, emit } = input;
  const { name } = due.step;
  const result = resultOf(job.message);
  emit({ reason: 'TaskCompleted', note: `${name}: completed (${known.run ?? ''})` });
  const { message: _, ...rest } = known;
  const done = withStep(lifecycle, name, { ...rest, state: 'Complete', completedAt: now.toISOString() });
  const completed = { ...done.completed, [name]: due.checksum };
  return {
    lifecycle: noteSuccess({ ...done, completed }, { name, spec, run: known.run ?? '', now }, result),
    ...(name === 'migrate' ? { migratedVersion: spec.version } : {}),
  };
}

interface SucceededRun {
  readonly name: StepName;
  readonly spec: IngesterSpec;
  readonly run: string;
  readonly now: Date;
}

function noteSuccess(lifecycle: LifecycleStatus, succeeded: SucceededRun, result: TaskResult): LifecycleStatus {
  const { name, spec, run, now } = succeeded;
  switch (name) {
    case 'rotate':
      return noteAdded(spec, lifecycle, run);
    case 'finish':
      return noteEnded(lifecycle);
    case 'release':
      return { ...lifecycle, gateHeld: false };
    case 'migrate':
      return noteMigrated(lifecycle, result);
    case 'restore':
      return noteRestored(lifecycle);
    case 'snapshot':
    case 'backup':
      return noteSnapshot(lifecycle, name, { result, now });
    case 'quiesce':
    case 'clone':
    case 'init':
      return lifecycle;
  }
}

function noteMigrated(lifecycle: LifecycleStatus, result: TaskResult): LifecycleStatus {
  const { attempt } = lifecycle;
  if (attempt === undefined || attempt.dataReplaced === true || !changedNothing(result)) return lifecycle;
  return { ...lifecycle, attempt: { ...attempt, mayHaveMigrated: false } };
}

function changedNothing({ applied, adopted }: TaskResult): boolean {
  const none = (list: unknown): boolean => Array.isArray(list) && list.length === 0;
  return none(applied) && none(adopted);
}

function fail(input: StepInput, known: StepStatus, job: ObservedJob): StepOutcome {
  const { lifecycle, due, spec, now, emit } = input;
  const { name } = due.step;
  const attempts = known.attempts + 1;
  const pointless = job.exitCode !== undefined && POINTLESS.has(job.exitCode) && !due.step.endless;
  const message = clip(job.message ?? 'failed');
  if (pointless || attempts >= maxAttempts(due, spec, known)) {
    emit({
      reason: 'TaskFailed',
      note: `${name}: attempt ${attempts} failed, no retry follows: ${message}`,
    });
    const failed: StepStatus = { ...known, state: 'Failed', attempts, message, ...(pointless ? { final: true } : {}) };
    const given = due.step.optional === true ? { ...lifecycle.completed, [name]: due.checksum } : lifecycle.completed;
    return { lifecycle: { ...withStep(lifecycle, name, failed), completed: given } };
  }
  const nextAttemptAt = new Date(now.getTime() + waitAfter(attempts, settingsOf(due.step, spec).backoff)).toISOString();
  emit({
    reason: 'TaskRetry',
    note: `${name}: attempt ${attempts} failed, next at ${nextAttemptAt}: ${message}`,
  });
  return { lifecycle: withStep(lifecycle, name, { ...known, state: 'Pending', attempts, message, nextAttemptAt }) };
}

export function waitAfter(attempts: number, { duration, factor = 2, maxDuration }: BackoffSpec = {}): number {
  const [baseMs, capMs] = [milliseconds(duration, '10s'), milliseconds(maxDuration, '5m')];
  return backoffMs({ baseMs, capMs, factor, jitter: 0 }, attempts - 1);
}

function withStep(lifecycle: LifecycleStatus, name: StepName, step: StepStatus): LifecycleStatus {
  return { ...lifecycle, steps: { ...lifecycle.steps, [name]: step } };
}

function without(completed: LifecycleStatus['completed'], names: readonly StepName[]): LifecycleStatus['completed'] {
  return Object.fromEntries(Object.entries(completed).filter(([key]) => !names.some((name) => name === key)));
}

function clip(text: string): string {
  return text.length <= MESSAGE_LENGTH ? text : `${text.slice(0, MESSAGE_LENGTH - 1)}…`;
}
