// Going back to the target that ran well last, where a rollback is possible: before a task that changes the database begins.
import type { Attempt, IngesterStatus, LifecycleStatus, Target } from '../../api/ingester/status.ts';
import { sameJson } from '../../base/json.ts';
import { type Refusal, specHash } from './approval.ts';
import type { ObservedState, PlanEvent } from './observed.ts';
import { milliseconds } from './settings.ts';

interface RollbackInput {
  readonly status: IngesterStatus;
  readonly asked: Target;
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly observed: ObservedState;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

interface RollbackResult {
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly refusal?: Refusal;
}

/** Rolls back to the stable target where the attempt failed or takes too long, and a rollback is possible. */
export function rollBack(input: RollbackInput): RollbackResult {
  const { target, lifecycle, status, now, asked, emit } = input;
  const { attempt } = lifecycle;
  const stable = status.stable;
  const why = reason(input);
  if (attempt === undefined || stable === undefined || why === undefined) return { target, lifecycle };
  const cause = [why, ...causes(input, attempt)].join(': ');
  const message = `${target.spec.version} ${cause}; going back to ${stable.spec.version}`;
  emit({ reason: 'RolledBack', note: message });
  const again: Attempt = { ...attempt, id: `${attempt.id}-back`, kind: 'Rollback', startedAt: now.toISOString() };
  return {
    target: stable,
    lifecycle: { ...lifecycle, attempt: again, rejected: specHash(asked.spec), rejectedBecause: cause },
    refusal: { kind: 'Blocked', reason: 'RolledBack', message },
  };
}

function reason({ target, lifecycle, status, now, asked }: RollbackInput): string | undefined {
  const { attempt, pipeline } = lifecycle;
  const { enabled = true, deadline } = asked.spec.lifecycle?.rollback ?? {};
  if (!enabled || attempt === undefined || !canRollBack({ lifecycle, status, target })) return undefined;
  // The target has changed since: the attempt has not had its time yet.
  if (!sameJson(status.target?.spec, target.spec)) return undefined;
  if (pipeline === 'Failed') return 'failed';
  const isLate = now.getTime() - Date.parse(attempt.startedAt) > milliseconds(deadline, '15m');
  return isLate ? 'was not ready in time' : undefined;
}

/** What the attempt failed by, or what it waits for: of its tasks, of the maintenance page, and of the components. */
function causes({ lifecycle, observed }: RollbackInput, attempt: Attempt): readonly string[] {
  const tasks = Object.entries(lifecycle.steps).flatMap(([name, { startedAt = '', message }]) => {
    return message === undefined || startedAt < attempt.startedAt ? [] : [`${name}: ${message}`];
  });
  const pods = Object.entries({ 'maintenance page': observed.maintenance, ...observed.components }).flatMap(
    ([name, { problem }]) => (problem === undefined ? [] : [`${name}: ${problem}`]),
  );
  const found = [...tasks, ...pods].join('; ');
  return found === '' ? [] : [found];
}

interface Situation {
  readonly lifecycle: LifecycleStatus;
  readonly status: IngesterStatus;
  readonly target: Target | undefined;
}

/** Whether a rollback is possible now. */
export function canRollBack({ lifecycle, status, target }: Situation): boolean {
  const { attempt, pipeline } = lifecycle;
  if (attempt === undefined || status.stable === undefined || pipeline === 'Settled') return false;
  if (attempt.kind === 'Rollback' || attempt.mayHaveMigrated) return false;
  return !sameJson(status.stable.spec, target?.spec);
}

/** Whether the next reconcile rolls back. */
export function willRollBack(situation: Situation): boolean {
  return situation.target?.spec.lifecycle?.rollback?.enabled !== false && canRollBack(situation);
}
