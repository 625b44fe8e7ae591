// Cron expressions, and when clones are due. A tick counts only after the schedule was read, and only while no attempt is
// under way, so that a clone that takes longer than its interval is not started again in the middle.
import { Cron } from 'croner';
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';

export function advanceSchedule(lifecycle: LifecycleStatus, spec: IngesterSpec, now: Date): LifecycleStatus {
  const { nextScheduleAt, ...rest } = lifecycle;
  const schedule = spec.lifecycle?.clone?.schedule;
  if (schedule === undefined || scheduleProblem(schedule) !== undefined)
    return nextScheduleAt === undefined ? lifecycle : rest;
  const due = nextScheduleAt !== undefined && Date.parse(nextScheduleAt) <= now.getTime();
  if (due && lifecycle.pipeline !== 'Settled') return lifecycle;
  const next = tickAfter(schedule, now);
  // Ticks that were missed are one.
  return {
    ...rest,
    ...(due ? { lastScheduledAt: nextScheduleAt } : {}),
    ...(next === undefined ? {} : { nextScheduleAt: next }),
  };
}

/** What is wrong with a cron expression of five fields; undefined where nothing is. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.trim().split(/\s+/).length !== 5) return 'expected five fields: minute hour day month weekday';
  try {
    return new Cron(schedule, { timezone: 'UTC' }).nextRun() === null ? 'this never comes' : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function tickAfter(schedule: string, now: Date): string | undefined {
  return new Cron(schedule, { timezone: 'UTC' }).nextRun(now)?.toISOString();
}
