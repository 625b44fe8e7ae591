// What the metrics say of an Ingester resource, from its status.
import { type IngesterStatus, stepNames, topPhases } from '../api/ingester/status.ts';
import type { LifecycleReading } from '../base/metrics-lifecycle.ts';

export const readingLabels: { readonly phases: readonly string[]; readonly tasks: readonly string[] } = {
  phases: topPhases,
  tasks: stepNames,
};

export function readingOf({ phase = 'Initializing', lifecycle, conditions = [] }: IngesterStatus): LifecycleReading {
  const available = conditions.find(({ type }) => type === 'Available');
  const unavailableSince = available?.status === 'False' ? new Date(available.lastTransitionTime) : undefined;
  const startedAt = dateOf(lifecycle?.attempt?.startedAt);
  const snapshotAt = dateOf(lifecycle?.snapshotAt);
  const snapshotMissedSince = dateOf(lifecycle?.snapshotSchedule?.missedSince);
  const attempts = Object.fromEntries(stepNames.map((name) => [name, lifecycle?.steps[name]?.attempts ?? 0]));
  return { phase, attempts, startedAt, unavailableSince, snapshotAt, snapshotMissedSince };
}

function dateOf(time: string | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
