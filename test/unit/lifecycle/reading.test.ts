import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';
import { readingLabels, readingOf } from '../../../src/lifecycle/reconcile/reconciler.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';

describe('the metrics of an Ingester resource', () => {
  it('are zero for every phase and task from the first reconcile on, follow its status, and go with the resource', async () => {
    const { registry, lifecycle } = createMetrics();
    const series = async (): Promise<readonly string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('ingester_lifecycle_'));
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
});
