import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LifecycleStatus } from '../../../src/api/ingester/status.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';
import { endedBetween } from '../../../src/lifecycle/reconcile/ended.ts';
import { readingLabels, readingOf } from '../../../src/lifecycle/reconcile/reconciler.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';

describe('the metrics of an Ingester resource', () => {
  it('are zero for every phase and task from the first reconcile on, follow its status, and go with the resource', async () => {
    const { registry, lifecycle } = createMetrics();
    const series = async (): Promise<readonly string[]> =>
      (await registry.metrics()).split('\n').filter((line) => /^ingester_lifecycle_.*name="/.test(line));
    const of = lifecycle.forResource('system/one', readingLabels);
    of.read(readingOf({}));
    const first = await series();
    assert.equal(first.filter((line) => line.endsWith(' 0')).length, first.length - 1);
    assert.equal(first.length, readingLabels.phases.length + readingLabels.tasks.length + 4);
    const startedAt = '2030-01-01T00:00:00Z';
    const attempt = { id: '1', kind: 'Upgrade', startedAt, quiesces: true, mayHaveMigrated: true } as const;
    const steps = { migrate: { state: 'Pending', checksum: 'c', attempts: 2 } } as const;
    const available = { type: 'Available', status: 'False', reason: 'NotServing', message: '' } as const;
    const condition = { ...available, lastTransitionTime: startedAt, observedGeneration: 1 };
    of.read(
      readingOf({
        phase: 'Upgrading',
        lifecycle: {
          ...noLifecycle,
          attempt,
          steps,
          snapshotAt: startedAt,
          snapshotSchedule: { missedSince: startedAt },
        },
        conditions: [condition],
      }),
    );
    const now = await series();
    assert.ok(now.includes('ingester_lifecycle_phase{name="system/one",phase="Upgrading"} 1'));
    assert.ok(now.includes('ingester_lifecycle_phase{name="system/one",phase="Initializing"} 0'));
    assert.ok(now.includes('ingester_lifecycle_failed_attempts{name="system/one",task="migrate"} 2'));
    const time = Date.parse(startedAt) / 1000;
    assert.ok(now.includes(`ingester_lifecycle_change_started_timestamp_seconds{name="system/one"} ${time}`));
    assert.ok(now.includes(`ingester_lifecycle_unavailable_timestamp_seconds{name="system/one"} ${time}`));
    for (const what of ['', 'missed_'])
      assert.ok(now.includes(`ingester_lifecycle_snapshot_${what}timestamp_seconds{name="system/one"} ${time}`));
    of.gone();
    assert.deepEqual(await series(), []);
  });

  it('count each run, quiesce and change once, when the status says that it is over', async () => {
    const { registry, lifecycle: metrics } = createMetrics();
    const at = (second: number): Date => new Date(Date.parse('2030-01-01T00:00:00Z') + second * 1000);
    const attempt = {
      id: '1',
      kind: 'Upgrade',
      startedAt: at(0).toISOString(),
      quiesces: true,
      mayHaveMigrated: true,
    } as const;
    const running = { state: 'Running', checksum: 'c', attempts: 0, startedAt: at(10).toISOString() } as const;
    const none: LifecycleStatus = noLifecycle;
    const quiescing: LifecycleStatus = {
      ...none,
      pipeline: 'Quiescing',
      attempt,
      quiesceStartedAt: at(1).toISOString(),
    };
    const first: LifecycleStatus = { ...quiescing, pipeline: 'Tasks', steps: { migrate: running } };
    const failed: LifecycleStatus = { ...first, steps: { migrate: { ...running, state: 'Pending', attempts: 1 } } };
    const replaced: LifecycleStatus = { ...first, steps: { migrate: { ...running, state: 'Pending' } } };
    const again: LifecycleStatus = { ...first, steps: { migrate: { ...running, attempts: 1 } } };
    const migrated: LifecycleStatus = { ...first, steps: { migrate: { ...running, state: 'Complete', attempts: 1 } } };
    const restoring: LifecycleStatus = { ...migrated, pipeline: 'Restoring' };
    const walk = [none, quiescing, first, replaced, first, failed, again, migrated, restoring, none, none];
    walk.forEach((after, index) => {
      for (const ended of endedBetween(walk[index - 1], after, at(20))) metrics.ended(ended);
    });
    const back: LifecycleStatus = { ...first, attempt: { ...attempt, kind: 'Rollback' } };
    for (const ended of endedBetween(first, back, at(20))) metrics.ended(ended);
    for (const ended of endedBetween(first, { ...first, pipeline: 'Failed' }, at(20))) metrics.ended(ended);
    for (const ended of endedBetween({ ...first, pipeline: 'Failed' }, back, at(20))) metrics.ended(ended);
    const text = await registry.metrics();
    const value = (series: string): string | undefined =>
      text
        .split('\n')
        .find((line) => line.startsWith(`ingester_lifecycle_${series} `))
        ?.split(' ')[1];
    assert.equal(value('task_duration_seconds_count{task="migrate",outcome="succeeded"}'), '1');
    assert.equal(value('task_duration_seconds_count{task="migrate",outcome="failed"}'), '1');
    assert.equal(value('task_duration_seconds_sum{task="migrate",outcome="failed"}'), '10');
    assert.equal(value('quiesce_duration_seconds_count'), '1');
    assert.equal(value('quiesce_duration_seconds_sum'), '19');
    assert.equal(value('change_duration_seconds_count{kind="Upgrade",outcome="succeeded"}'), '1');
    assert.equal(value('change_duration_seconds_sum{kind="Upgrade",outcome="succeeded"}'), '20');
    assert.equal(value('change_duration_seconds_count{kind="Upgrade",outcome="failed"}'), '2');
  });
});
