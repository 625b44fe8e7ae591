// Snapshots: when they are due, which are known, and which must not go.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';
import type { TaskResult } from './observed.ts';
import { scheduleProblem, tickAfter } from './schedule.ts';

/** A tick counts only after the schedule was read. Missed ticks count as one. */
export function advanceSnapshots(lifecycle: LifecycleStatus, spec: IngesterSpec, now: Date): LifecycleStatus {
  const { snapshotSchedule: before = {}, ...rest } = lifecycle;
  const schedule = spec.lifecycle?.snapshots?.schedule;
  if (schedule === undefined || scheduleProblem(schedule) !== undefined) return rest;
  const passed = before.next !== undefined && Date.parse(before.next) <= now.getTime() ? before.next : undefined;
  const ticks = {
    next: tickAfter(schedule, now),
    tick: passed ?? before.tick,
    missedSince: before.missedSince ?? passed,
  };
  const known = Object.entries(ticks).filter(([, time]) => time !== undefined);
  return { ...rest, snapshotSchedule: Object.fromEntries(known) };
}

interface SnapshotResult {
  readonly result: TaskResult;
  readonly now: Date;
}

/** A snapshot also ends the wait for a scheduled one, whatever it was taken for. */
export function noteSnapshot(
  lifecycle: LifecycleStatus,
  by: 'snapshot' | 'backup',
  { result, now }: SnapshotResult,
): LifecycleStatus {
  const { snapshot, dropped } = result;
  if (typeof snapshot !== 'string') return lifecycle;
  const isThere = (known: string): boolean =>
    known !== snapshot && !(Array.isArray(dropped) && dropped.includes(known));
  const { missedSince: _, ...schedule } = lifecycle.snapshotSchedule ?? {};
  return {
    ...lifecycle,
    ...(lifecycle.snapshotSchedule === undefined ? {} : { snapshotSchedule: schedule }),
    ...(by === 'snapshot' ? { restorePoint: snapshot } : {}),
    snapshots: [...lifecycle.snapshots.filter(isThere), snapshot],
    snapshotAt: now.toISOString(),
  };
}

/** Snapshots that a rollback or a restore may still need: retention keeps them. */
export function referencedSnapshots(
  spec: IngesterSpec,
  { restorePoint, restore }: Pick<LifecycleStatus, 'restorePoint' | 'restore'>,
): readonly string[] {
  const all = [restorePoint, restore?.snapshot, spec.lifecycle?.restore?.snapshot];
  return [...new Set(all.filter((id) => id !== undefined))];
}
