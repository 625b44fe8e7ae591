// The log of phases in the status.
import type { Condition, IngesterStatus, Transition } from '../../api/ingester/status.ts';

/** How many the status keeps; the CRD has the same limit. */
export const KEPT_TRANSITIONS = 20;

/** The phases that the resource was in, newest last. */
export function noteTransition(
  { phase: from, transitions = [] }: IngesterStatus,
  { phase: to, conditions = [] }: IngesterStatus,
  now: Date,
): readonly Transition[] {
  if (to === undefined || from === to) return transitions;
  const passed = {
    ...(from === undefined ? {} : { from }),
    to,
    time: now.toISOString(),
    reason: reasonOf(to, conditions),
  };
  return [...transitions, passed].slice(-KEPT_TRANSITIONS);
}

/** That of the condition which explains the phase. */
function reasonOf(phase: Transition['to'], conditions: readonly Condition[]): string {
  const of = (type: string): string => conditions.find((condition) => condition.type === type)?.reason ?? '';
  if (phase === 'Suspended' || phase === 'Degraded') return of(phase);
  const complete = of('LifecycleComplete');
  // Blocked by a refusal, or by a specification that is not valid.
  const isInvalid = phase === 'Blocked' && of('SpecValid') === 'Invalid' && !refusals.has(complete);
  return isInvalid ? 'Invalid' : complete;
}

const refusals: ReadonlySet<string> = new Set(['DowngradeBlocked', 'RolledBack']);
