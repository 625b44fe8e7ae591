// Phases, counts and conditions of the status, computed in every reconcile from lifecycle status and observed state.
import { type ComponentName, componentNames, type IngesterSpec } from '../../api/ingester/spec.ts';
import type {
  ComponentStatus,
  Condition,
  IngesterStatus,
  LifecycleStatus,
  StepStatus,
  TopPhase,
} from '../../api/ingester/status.ts';
import type { Refusal } from './approval.ts';
import type { ObservedComponent, ObservedState } from './observed.ts';
import type { Due } from './pending.ts';
import { milliseconds } from './settings.ts';
import { noteTransition } from './transitions.ts';

export interface SummaryInput {
  readonly generation: number;
  readonly suspended: boolean;
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

export function summarize(input: SummaryInput): IngesterStatus {
  const { next, generation, observed } = input;
  const components = componentsOf(input);
  const present = Object.values(components);
  const sum = (count: (component: ComponentStatus) => number): number =>
    present.reduce((all, one) => all + count(one), 0);
  const counted = input.suspended ? Object.values(observed.components).filter(({ exists }) => exists) : present;
  const desired = counted.reduce((all, { desired: one }) => all + one, 0);
  const shown: IngesterStatus = {
    ...next,
    observedGeneration: generation,
    phase: phaseOf(input, present),
    ready: `${sum(({ ready }) => ready)}/${desired}`,
    components,
    ...(next.lifecycle === undefined ? {} : { lifecycle: shownPhase(next.lifecycle, input.refusal) }),
    conditions: conditionsOf(input, present),
  };
  return { ...shown, transitions: noteTransition(input.status, shown, input.now) };
}

/** While no attempt is under way, the phase shows why a change is held back. */
function shownPhase(lifecycle: LifecycleStatus, refusal: Refusal | undefined): LifecycleStatus {
  if (lifecycle.pipeline !== 'Settled' || refusal === undefined) return lifecycle;
  return { ...lifecycle, phase: refusal.kind };
}

function phaseOf(input: SummaryInput, components: readonly ComponentStatus[]): TopPhase {
  const { suspended, refusal, next, problems } = input;
  if (suspended) return 'Suspended';
  if (refusal?.kind === 'Blocked') return 'Blocked';
  if (next.target === undefined) return problems.length > 0 ? 'Blocked' : 'Initializing';
  const underWay = phaseUnderWay(next.lifecycle);
  if (underWay !== undefined) return underWay;
  if (problems.length > 0) return 'Blocked';
  if (refusal !== undefined) return 'AwaitingApproval';
  return components.every(({ phase }) => phase === 'Ready') ? 'Running' : 'Degraded';
}

function phaseUnderWay(lifecycle: LifecycleStatus | undefined): TopPhase | undefined {
  const { pipeline = 'Settled', attempt } = lifecycle ?? {};
  if (pipeline === 'Settled') return undefined;
  if (pipeline === 'Failed') return 'Failed';
  if (attempt?.kind === 'Install') return 'Initializing';
  return attempt?.kind !== 'Change' || attempt.quiesces ? 'Upgrading' : undefined;
}

function componentsOf({
  next,
  observed,
  status,
  suspended,
}: SummaryInput): Readonly<Partial<Record<ComponentName, ComponentStatus>>> {
  const spec = (suspended ? (status.target ?? next.target) : next.target)?.spec;
  const specified = componentNames.filter((name) => spec?.components?.[name] !== undefined);
  const quiesces = next.lifecycle?.attempt?.quiesces ?? false;
  return Object.fromEntries(
    specified.map((name) => [name, componentOf(name, observed.components[name], { spec, quiesces })]),
  );
}

function componentOf(
  name: ComponentName,
  observed: ObservedComponent,
  { spec, quiesces }: { readonly spec: IngesterSpec | undefined; readonly quiesces: boolean },
): ComponentStatus {
  const { ready, updated, available, image, configChecksum } = observed;
  const desired = observed.exists ? observed.desired : desiredOf(name, spec);
  return {
    ...phaseAndMessage(observed, quiesces),
    desired,
    ready,
    updated,
    available,
    ...(image === undefined ? {} : { image }),
    ...(configChecksum === undefined ? {} : { configChecksum }),
  };
}

function desiredOf(name: ComponentName, spec: IngesterSpec | undefined): number {
  if (name === 'audit') return 1;
  const component = spec?.components?.[name];
  return component?.autoscaling?.minReplicas ?? component?.replicas ?? 1;
}

function phaseAndMessage(observed: ObservedComponent, quiesces: boolean): Pick<ComponentStatus, 'phase' | 'message'> {
  const { exists, generationObserved, desired, ready, updated, available, problem } = observed;
  if (!exists)
    return quiesces
      ? { phase: 'Quiesced', message: 'removed while tasks run' }
      : { phase: 'Pending', message: 'not created yet' };
  if (problem !== undefined) return { phase: ready > 0 ? 'Progressing' : 'Unavailable', message: problem };
  if (!generationObserved)
    return { phase: 'Progressing', message: 'the Deployment controller has not observed its newest generation yet' };
  if (ready >= desired && updated >= desired && available >= desired) return { phase: 'Ready' };
  const message = `${ready} of ${desired} pods are ready`;
  return { phase: ready > 0 || updated > 0 ? 'Progressing' : 'Unavailable', message };
}

type ConditionDraft = readonly [type: string, isTrue: boolean, reason: string, message: string];

function conditionsOf(input: SummaryInput, components: readonly ComponentStatus[]): readonly Condition[] {
  const { status, generation, now } = input;
  const drafts: readonly ConditionDraft[] = [
    available(input),
    lifecycleComplete(input),
    progressing(input),
    degraded(components),
    specValid(input),
    [
      'Suspended',
      input.suspended,
      input.suspended ? 'Suspended' : 'NotSuspended',
      input.suspended ? suspendedText(input) : '',
    ],
    foreign(input),
  ];
  return drafts.map(([type, isTrue, reason, message]) => {
    const value = isTrue ? 'True' : 'False';
    const before = status.conditions?.find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === value ? before.lastTransitionTime : now.toISOString();
    return { type, status: value, reason, message, lastTransitionTime, observedGeneration: generation };
  });
}

/** Whether users are served, whatever else happens. */
function available({ observed, next }: SummaryInput): ConditionDraft {
  const serving =
    next.target?.spec.components?.query === undefined ? observed.components.sync : observed.components.query;
  if (observed.service === 'maintenance')
    return ['Available', false, 'MaintenanceActive', 'the maintenance page answers'];
  if (serving.exists && serving.ready > 0) return ['Available', true, 'Serving', `${serving.ready} pods serve`];
  return ['Available', false, 'NotServing', 'no pod serves'];
}

type ReasonAndMessage = readonly [reason: string, message: string];

function lifecycleComplete(input: SummaryInput): ConditionDraft {
  const { next, refusal, due } = input;
  const { lifecycle } = next;
  if (lifecycle === undefined) {
    const text: ReasonAndMessage =
      refusal === undefined ? ['NotStarted', 'nothing was begun yet'] : [refusal.reason, refusal.message];
    return ['LifecycleComplete', false, ...text];
  }
  if (lifecycle.pipeline !== 'Settled') return ['LifecycleComplete', false, ...underWayText(input, lifecycle, due[0])];
  if (refusal !== undefined) return ['LifecycleComplete', false, refusal.reason, refusal.message];
  return ['LifecycleComplete', true, 'LifecycleComplete', ''];
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
  return [`Components${pipeline}`, 'waiting until everything is as the target says'];
}

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
  const busy = !suspended && pipeline !== 'Settled' && pipeline !== 'Failed';
  return ['Progressing', busy, busy ? pipeline : 'Idle', busy ? `${attempt?.kind ?? ''} ${attempt?.id ?? ''}` : ''];
}

function degraded(components: readonly ComponentStatus[]): ConditionDraft {
  const bad = components.filter(({ phase }) => phase !== 'Ready');
  const message = bad.map(({ message: text }) => text ?? '').join('; ');
  return ['Degraded', bad.length > 0, bad.length > 0 ? 'ComponentsNotReady' : 'AllComponentsReady', message];
}

function specValid({ problems, next }: SummaryInput): ConditionDraft {
  if (problems.length === 0) return ['SpecValid', true, 'Valid', ''];
  const running = next.target === undefined ? '' : ` Generation ${next.target.generation} goes on.`;
  return ['SpecValid', false, 'Invalid', `${problems.join('; ')}.${running}`];
}

function suspendedText({ next, observed }: SummaryInput): string {
  const active = observed.jobs.filter(({ state }) => state === 'active').map(({ run }) => run);
  const phase = next.lifecycle?.phase ?? 'not started';
  return `at ${phase}${active.length === 0 ? '' : `; still running: ${active.join(', ')}`}`;
}

function foreign({ observed, taken = [] }: SummaryInput): ConditionDraft {
  const others = observed.foreign.filter((key) => !taken.includes(key));
  if (taken.length + others.length === 0) return ['ForeignObjects', false, 'None', ''];
  const texts = [
    ...(taken.length === 0 ? [] : [takenText(taken)]),
    ...(others.length === 0 ? [] : [`with its label and not its own, left alone: ${others.join(', ')}`]),
  ];
  return ['ForeignObjects', true, taken.length > 0 ? 'NameTaken' : 'LabelTaken', texts.join('; ')];
}

/** Names that objects of other owners have, with what to do about them. */
export function takenText(taken: readonly string[]): string {
  const commands = taken.map((key) => `kubectl delete ${key.replace('/', ' ').toLowerCase()}`);
  return (
    `taken by objects that do not belong to this Ingester: ${taken.join(', ')}. They are left alone, and what needs ` +
    `their names waits. Remove them (${commands.join('; ')}), or give the Ingester another name`
  );
}

/** Names without which no task can run. */
function takenOfTasks(taken: readonly string[]): readonly string[] {
  return taken.filter((key) => key.startsWith('Job/') || key.endsWith('-tasks-config'));
}
