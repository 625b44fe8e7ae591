// Snapshots: when they are due, which are known, and which must not go.
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { LifecycleStatus } from '../api/ingester/status.ts';
import { scheduleProblem, tickAfter } from './schedule.ts';
import type { Result } from './task-result.ts';

/** A tick counts from when the schedule was seen. Ticks that no snapshot followed are one. */
export function advanceSnapshots(lifecycle: LifecycleStatus, spec: IngesterSpec, now: Date): LifecycleStatus {
  const { snapshotSchedule: known = {}, ...rest } = lifecycle;
  const schedule = spec.lifecycle?.snapshots?.schedule;
  if (schedule === undefined || scheduleProblem(schedule) !== undefined) return rest;
  const passed = known.next !== undefined && Date.parse(known.next) <= now.getTime() ? known.next : undefined;
  const ticks = {
    next: tickAfter(schedule, now),
    tick: passed ?? known.tick,
    missedSince: known.missedSince ?? passed,
  };
  const told = Object.entries(ticks).filter(([, time]) => time !== undefined);
  return { ...rest, snapshotSchedule: Object.fromEntries(told) };
}

interface Taken {
  readonly result: Result;
  readonly now: Date;
}

/** Whatever it was taken for, it follows the ticks that have passed. */
export function noteSnapshot(lifecycle: LifecycleStatus, by: 'snapshot' | 'backup', taken: Taken): LifecycleStatus {
  const { snapshot, dropped } = taken.result;
  if (typeof snapshot !== 'string') return lifecycle;
  const isThere = (known: string): boolean =>
    known !== snapshot && !(Array.isArray(dropped) && dropped.includes(known));
  const { missedSince: _, ...schedule } = lifecycle.snapshotSchedule ?? {};
  return {
    ...lifecycle,
    ...(lifecycle.snapshotSchedule === undefined ? {} : { snapshotSchedule: schedule }),
    ...(by === 'snapshot' ? { restorePoint: snapshot } : {}),
    snapshots: [...lifecycle.snapshots.filter(isThere), snapshot],
    snapshotAt: taken.now.toISOString(),
  };
}

/** Those that somebody may still want to go back to: retention leaves them alone. */
export function referencedSnapshots(
  spec: IngesterSpec,
  { restorePoint, restore }: Pick<LifecycleStatus, 'restorePoint' | 'restore'>,
): readonly string[] {
  const all = [restorePoint, restore?.snapshot, spec.lifecycle?.restore?.snapshot];
  return [...new Set(all.filter((id) => id !== undefined))];
}
