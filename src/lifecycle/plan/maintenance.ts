// Whether the maintenance page answers for query: from the start of a quiesce until query is ready again.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';
import type { ObservedComponent, ObservedState, PlanEvent } from './observed.ts';
import { milliseconds } from './settings.ts';

export interface MaintenanceInput {
  readonly target: { readonly spec: IngesterSpec };
  readonly lifecycle: LifecycleStatus;
  readonly observed: ObservedState;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

export function advanceMaintenance(input: MaintenanceInput): LifecycleStatus {
  const { observed, now, emit } = input;
  const lifecycle = noteServed(input);
  if (!lifecycle.maintenance) return lifecycle;
  const over = reasonToEnd(input, lifecycle);
  if (over !== undefined) {
    emit(over);
    return { ...lifecycle, maintenance: false };
  }
  if (observed.service === 'maintenance' && input.lifecycle.served?.by !== 'maintenance') {
    emit({ reason: 'MaintenanceStarted', note: `the page answers since ${now.toISOString()}` });
  }
  return lifecycle;
}

function noteServed({ lifecycle, observed, now }: MaintenanceInput): LifecycleStatus {
  const by = observed.service;
  if (by === 'absent' || lifecycle.served?.by === by) return lifecycle;
  return { ...lifecycle, served: { by, since: now.toISOString() } };
}

function reasonToEnd({ target, observed, now }: MaintenanceInput, lifecycle: LifecycleStatus): PlanEvent | undefined {
  const ended = { reason: 'MaintenanceEnded' } as const;
  if (target.spec.components?.query === undefined)
    return { ...ended, note: 'the component query was removed from the specification' };
  if (target.spec.lifecycle?.maintenancePage === undefined) return { ...ended, note: 'the page was switched off' };
  const back =
    lifecycle.pipeline !== 'Quiescing' && lifecycle.pipeline !== 'Tasks' && isComplete(observed.components.query);
  if (back) return { ...ended, note: 'query answers again' };
  const since = lifecycle.quiesceStartedAt;
  const waited = since === undefined ? 0 : now.getTime() - Date.parse(since);
  const late = waited > milliseconds(target.spec.lifecycle.quiesceTimeout, '5m');
  if (lifecycle.pipeline !== 'Quiescing' || observed.maintenance.ready || !late) return undefined;
  return {
    reason: 'MaintenancePageFailed',
    note: 'the page does not come up; the components are removed without it',
  };
}

function isComplete({ exists, deleting, generationObserved, desired, ready, available }: ObservedComponent): boolean {
  return exists && !deleting && generationObserved && ready >= desired && available >= desired;
}
