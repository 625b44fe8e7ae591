// The status in words: what is going on, why it waits, what would unblock it, and whether there is a way back.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { IngesterStatus } from '../../api/ingester/status.ts';
import { type Change, changesBetween } from './changes.ts';
import { pendingSteps, quiesceNeeded } from './pending.ts';
import { type PlanInput, plan } from './plan.ts';
import { takeRestore } from './restore.ts';
import { canRollBack } from './rollback.ts';
import { noLifecycle } from './target.ts';

export interface Explanation {
  readonly phase: string;
  readonly doing: string;
  readonly waitsFor: string;
  readonly available: string;
  readonly rollback: string;
  /** Steps that are due, in order. */
  readonly steps: readonly string[];
  /** What the asked specification changes, against what runs. */
  readonly changes: readonly Change[];
  readonly problems: readonly string[];
}

/** What the next reconcile would say; nothing is written. */
export function explain(input: PlanInput): Explanation {
  const { status } = plan(input);
  const lifecycle = status.lifecycle ?? noLifecycle;
  const { target } = status;
  const due = target === undefined ? [] : dueFor(input, target.spec);
  const asked = input.spec ?? target?.spec;
  const runs = input.status.stable?.spec;
  return {
    phase: `${status.phase ?? 'unknown'} (${lifecycle.phase})`,
    doing:
      target === undefined
        ? 'nothing: no specification was valid yet'
        : `bringing about ${target.spec.version} of generation ${target.generation}`,
    waitsFor: lifecycle.pipeline === 'Settled' && status.phase === 'Running' ? 'nothing' : waitsFor(status),
    available: conditionText(status, 'Available'),
    rollback: rollbackText(input),
    steps: due.map(({ step }) => step.name),
    changes: asked === undefined || runs === undefined ? [] : changesBetween(runs, asked),
    problems: input.problems,
  };
}

/** With why the components are not ready, as that is what the next step mostly waits for. */
function waitsFor(status: IngesterStatus): string {
  const unready = status.conditions?.find(({ reason }) => reason === 'ComponentsNotReady')?.message ?? '';
  return `${conditionText(status, 'LifecycleComplete')}${unready === '' ? '' : `; ${unready}`}`;
}

function conditionText({ conditions }: IngesterStatus, type: string): string {
  const found = conditions?.find((each) => each.type === type);
  return found === undefined ? '' : `${found.reason}${found.message === '' ? '' : `: ${found.message}`}`;
}

export interface DryRun {
  readonly changes: readonly Change[];
  readonly steps: readonly string[];
  readonly quiesces: boolean;
  readonly problems: readonly string[];
}

/** What applying this specification would lead to once it is approved. */
export function dryRun(input: PlanInput, spec: IngesterSpec, problems: readonly string[]): DryRun {
  const runs = input.status.target?.spec;
  const due = dueFor(input, spec);
  return {
    changes: runs === undefined ? [] : changesBetween(runs, spec),
    steps: due.map(({ step }) => step.name),
    quiesces: quiesceNeeded(due, spec),
    problems,
  };
}

function dueFor({ uid, status }: PlanInput, spec: IngesterSpec): ReturnType<typeof pendingSteps> {
  const isNew = status.lifecycle === undefined;
  const lifecycle = takeRestore({ spec, lifecycle: status.lifecycle ?? noLifecycle, isNew, emit: () => undefined });
  return pendingSteps({
    uid,
    spec,
    lifecycle,
    migratedVersion: status.migratedVersion,
  });
}

function rollbackText({ status }: PlanInput): string {
  const { lifecycle, stable, target } = status;
  if (stable === undefined) return 'not possible: nothing has run well yet';
  if (lifecycle === undefined || lifecycle.pipeline === 'Settled') return 'not needed';
  if (canRollBack({ lifecycle, status, target })) return `possible, to ${stable.spec.version}`;
  if (lifecycle.attempt?.mayHaveMigrated === true) return 'not possible: a task that changes the database has begun';
  return 'not possible: it is under way, or the target is what ran before';
}
