// The status for people: phases, counts and conditions, made anew in every pass from what is remembered and seen.
import { type ComponentName, componentNames, type IngesterSpec } from '../api/ingester/spec.ts';
import type {
  ComponentStatus,
  Condition,
  IngesterStatus,
  LifecycleStatus,
  StepStatus,
  TopPhase,
} from '../api/ingester/status.ts';
import type { ComponentFacts, Facts } from './facts.ts';
import type { Refusal } from './gate.ts';
import type { Due } from './pending.ts';
import { milliseconds } from './settings.ts';
import { takenOfTasks, takenText } from './taken.ts';

export interface SummaryInput {
  readonly generation: number;
  readonly suspended: boolean;
  readonly problems: readonly string[];
  readonly facts: Facts;
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
  const { next, generation, facts } = input;
  const components = componentsOf(input);
  const present = Object.values(components);
  const sum = (count: (component: ComponentStatus) => number): number =>
    present.reduce((all, one) => all + count(one), 0);
  const wanted = input.suspended ? Object.values(facts.components).filter(({ exists }) => exists) : present;
  const desired = wanted.reduce((all, { desired: one }) => all + one, 0);
  return {
    ...next,
    observedGeneration: generation,
    phase: phaseOf(input, present),
    ready: `${sum(({ ready }) => ready)}/${desired}`,
    components,
    ...(next.lifecycle === undefined ? {} : { lifecycle: shownPhase(next.lifecycle, input.refusal) }),
    conditions: conditionsOf(input, present),
  };
}

/** With nothing under way, what holds a change back is the news. */
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
  return attempt?.kind !== 'Change' || attempt.drains ? 'Upgrading' : undefined;
}

function componentsOf({
  next,
  facts,
  status,
  suspended,
}: SummaryInput): Readonly<Partial<Record<ComponentName, ComponentStatus>>> {
  const spec = (suspended ? (status.target ?? next.target) : next.target)?.spec;
  const wanted = componentNames.filter((name) => spec?.components?.[name] !== undefined);
  const drains = next.lifecycle?.attempt?.drains ?? false;
  return Object.fromEntries(wanted.map((name) => [name, componentOf(name, facts.components[name], { spec, drains })]));
}

function componentOf(
  name: ComponentName,
  seen: ComponentFacts,
  { spec, drains }: { readonly spec: IngesterSpec | undefined; readonly drains: boolean },
): ComponentStatus {
  const { ready, updated, available, image, configChecksum } = seen;
  const desired = seen.exists ? seen.desired : desiredOf(name, spec);
  return {
    ...phaseAndMessage(seen, drains),
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

function phaseAndMessage(seen: ComponentFacts, drains: boolean): Pick<ComponentStatus, 'phase' | 'message'> {
  const { exists, observed, desired, ready, updated, available, problem } = seen;
  if (!exists)
    return drains
      ? { phase: 'Drained', message: 'gone while tasks run' }
      : { phase: 'Pending', message: 'not created yet' };
  if (problem !== undefined) return { phase: ready > 0 ? 'Progressing' : 'Unavailable', message: problem };
  if (!observed) return { phase: 'Progressing', message: 'its change was not seen yet' };
  if (ready >= desired && updated >= desired && available >= desired) return { phase: 'Ready' };
  const message = `${ready} of ${desired} pods are ready`;
  return { phase: ready > 0 || updated > 0 ? 'Progressing' : 'Unavailable', message };
}

type Draft = readonly [type: string, isTrue: boolean, reason: string, message: string];

function conditionsOf(input: SummaryInput, components: readonly ComponentStatus[]): readonly Condition[] {
  const { status, generation, now } = input;
  const drafts: readonly Draft[] = [
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

/** Whether users are served, whatever else is going on. */
function available({ facts, next }: SummaryInput): Draft {
  const serving = next.target?.spec.components?.query === undefined ? facts.components.sync : facts.components.query;
  if (facts.service === 'maintenance') return ['Available', false, 'MaintenanceActive', 'the maintenance page answers'];
  if (serving.exists && serving.ready > 0) return ['Available', true, 'Serving', `${serving.ready} pods serve`];
  return ['Available', false, 'NotServing', 'no pod serves'];
}

type Told = readonly [reason: string, message: string];

function lifecycleComplete(input: SummaryInput): Draft {
  const { next, refusal, due } = input;
  const { lifecycle } = next;
  if (lifecycle === undefined) {
    const told: Told =
      refusal === undefined ? ['NotStarted', 'nothing was begun yet'] : [refusal.reason, refusal.message];
    return ['LifecycleComplete', false, ...told];
  }
  if (lifecycle.pipeline !== 'Settled') return ['LifecycleComplete', false, ...underWayText(input, lifecycle, due[0])];
  if (refusal !== undefined) return ['LifecycleComplete', false, refusal.reason, refusal.message];
  return ['LifecycleComplete', true, 'LifecycleComplete', ''];
}

function underWayText(
  { next, now, taken = [] }: SummaryInput,
  lifecycle: LifecycleStatus,
  head: Due | undefined,
): Told {
  const { pipeline, steps } = lifecycle;
  if (pipeline === 'Draining') return draining(next, now);
  const inTheWay = pipeline === 'Tasks' ? takenOfTasks(taken) : taken;
  if (inTheWay.length > 0) return ['NameTaken', takenText(inTheWay)];
  const step = head === undefined ? undefined : steps[head.step.name];
  if (pipeline === 'Failed')
    return ['TaskFailed', failedText(head, step?.message, lifecycle.attempt?.drains === false)];
  if (pipeline === 'Tasks' && head !== undefined) return taskText(head.step.name, step);
  return [`Components${pipeline}`, 'waiting until everything is as the target says'];
}

function taskText(name: string, step: StepStatus | undefined): Told {
  const { state, message = '', nextAttemptAt } = step ?? {};
  if (message.startsWith('cannot start')) return ['TaskCannotStart', `${name}: ${message}`];
  if (nextAttemptAt === undefined || state !== 'Pending') return ['TaskInProgress', `${name} runs`];
  return ['TaskRetrying', `${name}: next attempt at ${nextAttemptAt}; ${message}`];
}

function failedText(head: Due | undefined, message = '', serves = false): string {
  const name = head?.step.name ?? 'a task';
  const meanwhile = serves ? '; meanwhile the components run without it' : '';
  return `${name}: ${message}. Mend the cause, then change spec.lifecycle.${retriedBy(head)}${meanwhile}`;
}

/** What belongs to no task is there for the migration. */
function retriedBy(head: Due | undefined): string {
  if (head?.step.name === 'restore') return 'restore.nonce, or take restore away';
  return `${head?.step.task ?? 'migrate'}.trigger, or the version`;
}

function draining(next: IngesterStatus, now: Date): readonly [string, string] {
  const since = next.lifecycle?.drainStartedAt;
  const timeout = milliseconds(next.target?.spec.lifecycle?.drainTimeout, '5m');
  const isLate = since !== undefined && now.getTime() - Date.parse(since) > timeout;
  if (!isLate) return ['Draining', 'waiting until no pod of a component is left'];
  return ['DrainStuck', `draining since ${since}: kubectl get pods -l michelangelo/ingester shows what does not go`];
}

function progressing({ next, suspended }: SummaryInput): Draft {
  const { pipeline = 'Settled', attempt } = next.lifecycle ?? {};
  const busy = !suspended && pipeline !== 'Settled' && pipeline !== 'Failed';
  return ['Progressing', busy, busy ? pipeline : 'Idle', busy ? `${attempt?.kind ?? ''} ${attempt?.id ?? ''}` : ''];
}

function degraded(components: readonly ComponentStatus[]): Draft {
  const bad = components.filter(({ phase }) => phase !== 'Ready');
  const message = bad.map(({ message: text }) => text ?? '').join('; ');
  return ['Degraded', bad.length > 0, bad.length > 0 ? 'ComponentsNotReady' : 'AllComponentsReady', message];
}

function specValid({ problems, next }: SummaryInput): Draft {
  if (problems.length === 0) return ['SpecValid', true, 'Valid', ''];
  const running = next.target === undefined ? '' : ` Generation ${next.target.generation} goes on.`;
  return ['SpecValid', false, 'Invalid', `${problems.join('; ')}.${running}`];
}

function suspendedText({ next, facts }: SummaryInput): string {
  const active = facts.jobs.filter(({ state }) => state === 'active').map(({ run }) => run);
  const phase = next.lifecycle?.phase ?? 'not started';
  return `at ${phase}${active.length === 0 ? '' : `; still running: ${active.join(', ')}`}`;
}

function foreign({ facts, taken = [] }: SummaryInput): Draft {
  const others = facts.foreign.filter((key) => !taken.includes(key));
  if (taken.length + others.length === 0) return ['ForeignObjects', false, 'None', ''];
  const texts = [
    ...(taken.length === 0 ? [] : [takenText(taken)]),
    ...(others.length === 0 ? [] : [`with its label and not its own, left alone: ${others.join(', ')}`]),
  ];
  return ['ForeignObjects', true, taken.length > 0 ? 'NameTaken' : 'LabelTaken', texts.join('; ')];
}
