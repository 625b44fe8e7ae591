// The conditions of the status. Their statuses follow from their reasons: src/api/ingester/reasons.ts.
import {
  type ConditionDraft,
  type ConditionReason,
  type ConditionType,
  statusOfReason,
} from '../../api/ingester/reasons.ts';
import { componentNames } from '../../api/ingester/spec.ts';
import type {
  Condition,
  IngesterStatus,
  LifecycleStatus,
  PipelinePhase,
  StepStatus,
} from '../../api/ingester/status.ts';
import type { Refusal } from './approval.ts';
import type { ObservedState } from './observed.ts';
import type { Due } from './pending.ts';
import { milliseconds } from './settings.ts';

export interface SummaryInput {
  readonly generation: number;
  readonly suspended: boolean;
  readonly scaledToZero?: boolean;
  readonly problems: readonly string[];
  readonly observed: ObservedState;
  readonly taken?: readonly string[];
  readonly now: Date;
  /** What the status says so far. */
  readonly status: IngesterStatus;
  /** What it is going to say, but for what is made here. */
  readonly next: IngesterStatus;
  readonly due: readonly Due[];
  readonly refusal?: Refusal;
}

export type SummaryComponents = NonNullable<IngesterStatus['components']>;

export function conditionsOf(input: SummaryInput, components: SummaryComponents): readonly Condition[] {
  const drafts: readonly ConditionDraft[] = [
    available(input),
    lifecycleComplete(input),
    progressing(input),
    degraded(input, components),
    specValid(input),
    input.suspended ? ['Suspended', 'Suspended', suspendedText(input)] : ['Suspended', 'NotSuspended', ''],
    snapshotMissed(input),
    foreign(input),
  ];
  return drafts.map((draft) => conditionOf(draft, input));
}

type Moment = Pick<SummaryInput, 'status' | 'generation' | 'now'>;

function conditionOf(draft: ConditionDraft, { status: { conditions }, generation, now }: Moment): Condition {
  const [type, reason, message] = draft;
  const status = statusOfReason(draft);
  const before = conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now.toISOString();
  return { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
}

/** What follows from reads, where they fail. What follows from the specification alone, or from time, stays. */
const read: readonly Exclude<ConditionType, 'SpecValid' | 'Suspended' | 'SnapshotMissed'>[] = [
  'Available',
  'LifecycleComplete',
  'Progressing',
  'Degraded',
  'ForeignObjects',
];

export function unreadConditions(moment: Moment, message: string): readonly Condition[] {
  const known = moment.status.conditions ?? [];
  const unread = read.map((type) => conditionOf([type, 'ObservationFailed', message], moment));
  return [...unread, ...known.filter(({ type }) => !read.some((each) => each === type))];
}

/** Whether users are served, whatever else happens. */
function available({ observed, next }: SummaryInput): ConditionDraft {
  const serving =
    next.target?.spec.components?.query === undefined ? observed.components.sync : observed.components.query;
  if (observed.service === 'maintenance') return ['Available', 'MaintenanceActive', 'the maintenance page answers'];
  if (serving.exists && serving.ready > 0) return ['Available', 'Serving', `${serving.ready} pods serve`];
  return ['Available', 'NotServing', 'no pod serves'];
}

type ReasonAndMessage = readonly [reason: ConditionReason<'LifecycleComplete'>, message: string];

function lifecycleComplete(input: SummaryInput): ConditionDraft {
  const { next, refusal, due } = input;
  const { lifecycle } = next;
  if (lifecycle === undefined) {
    const text: ReasonAndMessage =
      refusal === undefined ? ['NotStarted', 'nothing was begun yet'] : [refusal.reason, refusal.message];
    return ['LifecycleComplete', ...text];
  }
  if (lifecycle.pipeline !== 'Settled') return ['LifecycleComplete', ...underWayText(input, lifecycle, due[0])];
  if (refusal !== undefined) return ['LifecycleComplete', refusal.reason, refusal.message];
  return ['LifecycleComplete', 'LifecycleComplete', ''];
}

function underWayText(
  { next, now, observed, taken = [] }: SummaryInput,
  lifecycle: LifecycleStatus,
  head: Due | undefined,
): ReasonAndMessage {
  const { pipeline, steps } = lifecycle;
  if (pipeline === 'Quiescing') return quiescing(next, observed, now);
  const inTheWay = pipeline === 'Tasks' ? takenOfTasks(taken) : taken;
  if (inTheWay.length > 0) return ['NameTaken', takenText(inTheWay)];
  const step = head === undefined ? undefined : steps[head.step.name];
  if (pipeline === 'Failed')
    return ['TaskFailed', failedText(head, step?.message, lifecycle.attempt?.quiesces === false)];
  if (pipeline === 'Tasks' && head !== undefined) return taskText(head.step.name, step);
  return [waiting[pipeline], 'waiting until everything is as the target says'];
}

const waiting: Readonly<Record<Exclude<PipelinePhase, 'Quiescing' | 'Failed'>, ConditionReason<'LifecycleComplete'>>> =
  {
    Settled: 'ComponentsUpdating',
    Updating: 'ComponentsUpdating',
    Stopping: 'ComponentsStopping',
    // The last task is done.
    Tasks: 'ComponentsRestoring',
    Restoring: 'ComponentsRestoring',
  };

function taskText(name: string, step: StepStatus | undefined): ReasonAndMessage {
  const { state, message = '', nextAttemptAt } = step ?? {};
  if (message.startsWith('cannot start')) return ['TaskCannotStart', `${name}: ${message}`];
  if (nextAttemptAt === undefined || state !== 'Pending') return ['TaskInProgress', `${name} runs`];
  return ['TaskRetrying', `${name}: next attempt at ${nextAttemptAt}; ${message}`];
}

function failedText(head: Due | undefined, message = '', serves = false): string {
  const name = head?.step.name ?? 'a task';
  const meanwhile = serves ? '; meanwhile the components run without it' : '';
  return `${name}: ${message}. Correct the cause, then change spec.lifecycle.${retriedBy(head)}${meanwhile}`;
}

/** Steps that belong to no task belong to the migration. */
function retriedBy(head: Due | undefined): string {
  if (head?.step.name === 'restore') return 'restore.nonce, or take restore away';
  return `${head?.step.task ?? 'migrate'}.trigger, or the version`;
}

function quiescing(next: IngesterStatus, { maintenance }: ObservedState, now: Date): ReasonAndMessage {
  // Until it answers the components stay.
  if (!maintenance.ready && maintenance.problem !== undefined)
    return ['MaintenanceCannotStart', `the maintenance page cannot start: ${maintenance.problem}`];
  const since = next.lifecycle?.quiesceStartedAt;
  const timeout = milliseconds(next.target?.spec.lifecycle?.quiesceTimeout, '5m');
  const isLate = since !== undefined && now.getTime() - Date.parse(since) > timeout;
  if (!isLate) return ['Quiescing', 'waiting until no pod of a component is left'];
  return [
    'QuiesceStuck',
    `quiescing since ${since}: kubectl get pods -l michelangelo/ingester shows the pods that are left`,
  ];
}

function progressing({ next, suspended }: SummaryInput): ConditionDraft {
  const { pipeline = 'Settled', attempt } = next.lifecycle ?? {};
  if (suspended || pipeline === 'Settled' || pipeline === 'Failed') return ['Progressing', 'Idle', ''];
  return ['Progressing', pipeline, `${attempt?.kind ?? ''} ${attempt?.id ?? ''}`];
}

function degraded({ observed }: SummaryInput, components: SummaryComponents): ConditionDraft {
  const unready = componentNames.filter((name) => components[name] !== undefined && components[name].phase !== 'Ready');
  if (unready.length === 0) return ['Degraded', 'AllComponentsReady', ''];
  const message = unready.map((name) => components[name]?.message ?? '').join('; ');
  // Counts of another generation say nothing about this one.
  const isSeen = unready.some((name) => {
    const { exists, generationObserved, problem } = observed.components[name];
    return !exists || generationObserved || problem !== undefined;
  });
  return ['Degraded', isSeen ? 'ComponentsNotReady' : 'NotObserved', message];
}

function specValid({ problems, next }: SummaryInput): ConditionDraft {
  if (problems.length === 0) return ['SpecValid', 'Valid', ''];
  const running = next.target === undefined ? '' : ` Generation ${next.target.generation} goes on.`;
  return ['SpecValid', 'Invalid', `${problems.join('; ')}.${running}`];
}

function suspendedText({ next, observed, scaledToZero = false }: SummaryInput): string {
  const active = observed.jobs.filter(({ state }) => state === 'active').map(({ run }) => run);
  const phase = next.lifecycle?.phase ?? 'not started';
  const running = active.length === 0 ? '' : `; still running: ${active.join(', ')}`;
  return `at ${phase}${running}${scaledToZero ? '; the components are scaled to zero' : ''}`;
}

/** By time alone, so that it says the same where no task is ever begun. As late as the alert IngesterSnapshotMissed. */
const SNAPSHOT_LATE_MS = 3_600_000;

function snapshotMissed({ next: { lifecycle }, now }: SummaryInput): ConditionDraft {
  const { snapshotSchedule, snapshotAt } = lifecycle ?? {};
  if (snapshotSchedule === undefined) return ['SnapshotMissed', 'NotScheduled', ''];
  const newest = snapshotAt === undefined ? 'there is none' : `the newest is of ${snapshotAt}`;
  const { missedSince } = snapshotSchedule;
  const isLate = missedSince !== undefined && now.getTime() - Date.parse(missedSince) > SNAPSHOT_LATE_MS;
  return isLate
    ? ['SnapshotMissed', 'Missed', `due since ${missedSince}; ${newest}`]
    : ['SnapshotMissed', 'Taken', newest];
}

function foreign({ observed, taken = [] }: SummaryInput): ConditionDraft {
  const others = observed.foreign.filter((key) => !taken.includes(key));
  if (taken.length + others.length === 0) return ['ForeignObjects', 'None', ''];
  const texts = [
    ...(taken.length === 0 ? [] : [takenText(taken)]),
    ...(others.length === 0 ? [] : [`with its label and not its own, left alone: ${others.join(', ')}`]),
  ];
  return ['ForeignObjects', taken.length > 0 ? 'NameTaken' : 'LabelTaken', texts.join('; ')];
}

/** Names that objects of other owners have, with what to do about them. */
export function takenText(taken: readonly string[]): string {
  const names = taken.map((key) => key.toLowerCase()).join(' ');
  return (
    `taken by objects that do not belong to this Ingester: ${taken.join(', ')}. They are left alone, and what needs ` +
    `their names waits. Remove them (kubectl delete -n <namespace> ${names}), or give the Ingester another name`
  );
}

/** Names without which no task can run. */
function takenOfTasks(taken: readonly string[]): readonly string[] {
  return taken.filter((key) => key.startsWith('Job/') || key.endsWith('-tasks-config'));
}
