// The log of phases in the status.
import type { Condition, IngesterStatus, TopPhase, Transition } from '../../api/ingester/status.ts';
import type { Refusal } from './approval.ts';

/** How many the status keeps; the CRD has the same limit. */
export const KEPT_TRANSITIONS = 20;

interface Passed {
  /** As it was. */
  readonly status: IngesterStatus;
  /** As it becomes. */
  readonly next: Pick<IngesterStatus, 'phase' | 'conditions'>;
  readonly refusal: Refusal | undefined;
  readonly now: Date;
}

/** The phases that the resource was in, newest last. */
export function noteTransition({ status, next, refusal, now }: Passed): readonly Transition[] {
  const { phase: from, transitions = [] } = status;
  const { phase: to, conditions = [] } = next;
  if (to === undefined || from === to) return transitions;
  const passed = {
    ...(from === undefined ? {} : { from }),
    to,
    time: now.toISOString(),
    reason: reasonOf(to, conditions, refusal),
  };
  return [...transitions, passed].slice(-KEPT_TRANSITIONS);
}

/** That of the refusal, or of the condition, which explains the phase. */
function reasonOf(phase: TopPhase, conditions: readonly Condition[], refusal: Refusal | undefined): string {
  if (phase === 'Blocked' && refusal?.kind !== phase) return 'Invalid';
  if (refusal?.kind === phase) return refusal.reason;
  const about = phase === 'Suspended' || phase === 'Degraded' ? phase : 'LifecycleComplete';
  return conditions.find(({ type }) => type === about)?.reason ?? '';
}
