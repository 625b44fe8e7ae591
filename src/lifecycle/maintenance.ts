// Whether the maintenance page answers for query. It is wanted from the start of a drain until query is ready again.
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { LifecycleStatus } from '../api/ingester/status.ts';
import type { ComponentFacts, Facts } from './facts.ts';
import type { PlanEvent } from './plan-event.ts';
import { milliseconds } from './settings.ts';

export interface MaintenanceInput {
  readonly target: { readonly spec: IngesterSpec };
  readonly lifecycle: LifecycleStatus;
  readonly facts: Facts;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

export function advanceMaintenance(input: MaintenanceInput): LifecycleStatus {
  const { facts, now, emit } = input;
  const lifecycle = noteServed(input);
  if (!lifecycle.maintenance) return lifecycle;
  const over = reasonToEnd(input, lifecycle);
  if (over !== undefined) {
    emit({ type: over.type, reason: over.reason, note: over.note });
    return { ...lifecycle, maintenance: false };
  }
  if (facts.service === 'maintenance' && input.lifecycle.served?.by !== 'maintenance') {
    emit({ type: 'Normal', reason: 'MaintenanceStarted', note: `the page answers since ${now.toISOString()}` });
  }
  return lifecycle;
}

function noteServed({ lifecycle, facts, now }: MaintenanceInput): LifecycleStatus {
  const by = facts.service;
  if (by === 'absent' || lifecycle.served?.by === by) return lifecycle;
  return { ...lifecycle, served: { by, since: now.toISOString() } };
}

function reasonToEnd({ target, facts, now }: MaintenanceInput, lifecycle: LifecycleStatus): PlanEvent | undefined {
  const ended = { type: 'Normal', reason: 'MaintenanceEnded' } as const;
  if (target.spec.components?.query === undefined) return { ...ended, note: 'there is no query to answer for' };
  if (target.spec.lifecycle?.maintenancePage === undefined) return { ...ended, note: 'the page was switched off' };
  const back =
    lifecycle.pipeline !== 'Draining' && lifecycle.pipeline !== 'Tasks' && isComplete(facts.components.query);
  if (back) return { ...ended, note: 'query answers again' };
  const since = lifecycle.drainStartedAt;
  const waited = since === undefined ? 0 : now.getTime() - Date.parse(since);
  const late = waited > milliseconds(target.spec.lifecycle.drainTimeout, '5m');
  if (lifecycle.pipeline !== 'Draining' || facts.maintenance.ready || !late) return undefined;
  return { type: 'Warning', reason: 'MaintenancePageFailed', note: 'the page does not come up; draining without it' };
}

function isComplete({ exists, deleting, observed, desired, ready, available }: ComponentFacts): boolean {
  return exists && !deleting && observed && ready >= desired && available >= desired;
}
