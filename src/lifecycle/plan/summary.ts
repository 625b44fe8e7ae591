// Phases and counts of the status, with its conditions, computed in every reconcile from lifecycle status and observed state.
import { type ComponentName, componentNames, type IngesterSpec } from '../../api/ingester/spec.ts';
import type { ComponentStatus, IngesterStatus, LifecycleStatus, TopPhase } from '../../api/ingester/status.ts';
import type { Refusal } from './approval.ts';
import { conditionsOf, type SummaryComponents, type SummaryInput } from './conditions.ts';
import type { ObservedComponent } from './observed.ts';
import { noteTransition } from './transitions.ts';

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
    conditions: conditionsOf(input, components),
  };
  const { status, refusal, now } = input;
  return { ...shown, transitions: noteTransition({ status, next: shown, refusal, now }) };
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

function componentsOf({ next, observed, status, suspended }: SummaryInput): SummaryComponents {
  const spec = (suspended ? (status.target ?? next.target) : next.target)?.spec;
  const specified = componentNames.filter((name) => spec?.components?.[name] !== undefined);
  const quiesces = next.lifecycle?.attempt?.quiesces ?? false;
  return Object.fromEntries(
    specified.map((name) => {
      const found = observed.components[name];
      // While suspended the number is what others make it.
      const desired = suspended && found.exists ? found.desired : desiredOf(name, spec, found);
      return [name, componentOf({ ...found, desired }, quiesces)];
    }),
  );
}

function componentOf(observed: ObservedComponent, quiesces: boolean): ComponentStatus {
  const { desired, ready, updated, available, image, configChecksum } = observed;
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

/** What is asked for, also where the Deployment does not have it yet; an autoscaler decides within its bounds. */
function desiredOf(name: ComponentName, spec: IngesterSpec | undefined, { desired }: ObservedComponent): number {
  if (name === 'audit') return 1;
  const { replicas = 1, autoscaling } = spec?.components?.[name] ?? {};
  if (autoscaling === undefined) return replicas;
  return Math.min(Math.max(desired, autoscaling.minReplicas ?? 1), autoscaling.maxReplicas);
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
