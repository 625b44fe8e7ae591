// Whether components may run beside what is left to do.
import type { LifecycleStatus, StepName, Target } from '../api/ingester/status.ts';
import { type Due, drainNeeded } from './pending.ts';
import type { PlanEvent } from './plan-event.ts';

const changesSchema: ReadonlySet<StepName> = new Set(['clone', 'restore', 'migrate', 'release']);

/** Whatever else is the case: nothing runs against a schema that was not made for it. */
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
 * After a failure for good. Where the database is as the target wants it and nothing that is left needs a drain, the
 * components come up without it: nobody else takes finalizers off, so being down holds up every deletion in the cluster.
 */
export function serveAgain({ target, lifecycle, due, emit }: ServeInput): LifecycleStatus {
  const { attempt } = lifecycle;
  if (attempt?.drains !== true || drainNeeded(due, target.spec) || !mayServe(due)) return lifecycle;
  const left = due.map(({ step }) => step.name).join(', ');
  emit({ type: 'Normal', reason: 'ServingAgain', note: `the schema is migrated; the components run without ${left}` });
  return { ...lifecycle, attempt: { ...attempt, drains: false } };
}
