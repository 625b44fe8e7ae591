// Which work is over by a new status, and how long it took: the durations of the metrics.
import { type LifecycleStatus, stepNames } from '../../api/ingester/status.ts';
import type { EndedWork } from '../../metrics/lifecycle.ts';

/** Of each run, each quiesce and each change exactly one status says that it is over. */
export function endedBetween(
  before: LifecycleStatus | undefined,
  after: LifecycleStatus | undefined,
  now: Date,
): readonly EndedWork[] {
  if (before === undefined || after === undefined) return [];
  const secondsSince = (start: string | undefined): number =>
    Math.max(0, now.getTime() - Date.parse(start ?? now.toISOString())) / 1000;
  const runs = stepNames.flatMap((task): readonly EndedWork[] => {
    const [was, is] = [before.steps[task], after.steps[task]];
    if (was?.state !== 'Running' || is === undefined) return [];
    const seconds = secondsSince(was.startedAt);
    if (is.state === 'Complete') return [{ work: 'task', task, outcome: 'succeeded', seconds }];
    // A run that was replaced by another one counts no attempt.
    return is.attempts > was.attempts ? [{ work: 'task', task, outcome: 'failed', seconds }] : [];
  });
  const quiesced = before.pipeline === 'Quiescing' && after.pipeline === 'Tasks';
  const quiesce = quiesced ? [{ work: 'quiesce', seconds: secondsSince(before.quiesceStartedAt) } as const] : [];
  const outcome = outcomeBetween(before, after);
  const { attempt } = before;
  if (outcome === undefined || attempt === undefined) return [...runs, ...quiesce];
  const { kind, startedAt } = attempt;
  return [...runs, ...quiesce, { work: 'change', kind, outcome, seconds: secondsSince(startedAt) }];
}

function outcomeBetween(before: LifecycleStatus, after: LifecycleStatus): 'succeeded' | 'failed' | undefined {
  if (before.pipeline === 'Settled') return undefined;
  if (after.pipeline === 'Settled') return 'succeeded';
  if (before.pipeline === 'Failed') return undefined;
  const isRolledBack = before.attempt?.kind !== 'Rollback' && after.attempt?.kind === 'Rollback';
  return isRolledBack || after.pipeline === 'Failed' ? 'failed' : undefined;
}
