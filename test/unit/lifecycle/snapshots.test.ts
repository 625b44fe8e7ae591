// Snapshots and clones by schedule, and the way back to a snapshot.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APPROVE_UPGRADE_ANNOTATION } from '../../../src/api/names.ts';
import { pendingSteps } from '../../../src/lifecycle/plan/pending.ts';
import { type Plan, plan } from '../../../src/lifecycle/plan/plan.ts';
import { advanceSchedule, scheduleProblem } from '../../../src/lifecycle/plan/schedule.ts';
import { advanceSnapshots, referencedSnapshots } from '../../../src/lifecycle/plan/snapshots.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';
import { specOf } from '../../support/lifecycle-model.ts';
import { asking, failing, messageOf, reasonOf, running } from '../../support/lifecycle-plans.ts';

describe('a restore', () => {
  const restore = { snapshot: '20300101-030000', nonce: 'one', replaceDataOf: 'michelangelo' };
  const lifecycle = { ...running.spec.lifecycle, snapshots: { database: 'snapshots' } };
  const asked = { lifecycle: { ...lifecycle, restore } };
  const due = ({ status }: Plan): readonly string[] =>
    pendingSteps({
      uid: 'u',
      spec: status.target?.spec ?? running.spec,
      lifecycle: status.lifecycle ?? noLifecycle,
      migratedVersion: status.migratedVersion,
    }).map(({ step }) => step.name);

  it('is on record with its nonce before anything is done, and keeps what is there', () => {
    const made = plan(asking(asked));
    assert.deepEqual([made.status.lifecycle?.restores, made.status.lifecycle?.restore], [['one'], restore]);
    assert.deepEqual(due(made), ['quiesce', 'snapshot', 'restore']);
    assert.equal(made.desired?.job, undefined);
    assert.ok(made.events.some(({ reason }) => reason === 'RestoreAccepted'));
  });

  it('is done once: the same nonce again, or one of before, does nothing', () => {
    const known = { ...running.status.lifecycle, ...noLifecycle, completed: running.status.lifecycle?.completed ?? {} };
    for (const restores of [['one'], ['one', 'two']]) {
      const made = plan(asking(asked, { status: { ...running.status, lifecycle: { ...known, restores } } }));
      assert.deepEqual([made.status.lifecycle?.restore, due(made)], [undefined, []]);
    }
  });

  it('is withdrawn with the field, and what it had begun is made good', () => {
    const { made, input } = failing('restore', asked);
    assert.match(messageOf(made), /change spec\.lifecycle\.restore\.nonce, or take restore away/);
    const withdrawn = plan({ ...input, spec: { ...running.spec, lifecycle }, status: made.status });
    assert.equal(withdrawn.status.lifecycle?.restore, undefined);
    assert.deepEqual(due(withdrawn), ['migrate', 'release']);
  });

  it('with supervised upgrades waits for an approval of that snapshot', () => {
    const supervised = { lifecycle: { ...lifecycle, upgradeMode: 'Supervised' as const, restore } };
    const waiting = plan(asking(supervised));
    assert.equal(waiting.status.phase, 'AwaitingApproval');
    assert.match(messageOf(waiting), /with the data of snapshot 20300101-030000 needs the approval/);
    const other = { lifecycle: { ...supervised.lifecycle, restore: { ...restore, snapshot: 'another' } } };
    const annotations = { [APPROVE_UPGRADE_ANNOTATION]: waiting.status.lifecycle?.upgrade?.token ?? '' };
    assert.equal(plan(asking(other, { annotations, status: waiting.status })).status.lifecycle?.restore, undefined);
    const approved = plan(asking(supervised, { annotations, status: waiting.status }));
    assert.deepEqual(approved.status.lifecycle?.restore, restore);
  });

  it('lets the snapshots that it refers to outlast retention', () => {
    const { restore: under, restorePoint } = { restore, restorePoint: 'before' };
    assert.deepEqual(referencedSnapshots({ ...running.spec, ...asked }, { restorePoint, restore: under }), [
      'before',
      '20300101-030000',
    ]);
  });
});

describe('the condition SnapshotMissed', () => {
  const snapshots = { database: 'd', schedule: '0 3 * * *' };
  const spec = { lifecycle: { ...running.spec.lifecycle, snapshots } };
  const said = (hours: number, more: object = {}, snapshotAt?: string): readonly (string | undefined)[] => {
    const due = new Date(running.now);
    const snapshotSchedule = { missedSince: due.toISOString(), tick: due.toISOString(), ...more };
    const lifecycle = {
      ...noLifecycle,
      ...running.status.lifecycle,
      snapshotSchedule,
      ...(snapshotAt && { snapshotAt }),
    };
    // Suspended: no task begins, and time passes all the same.
    const input = { suspended: true, now: new Date(running.now + hours * 3_600_000) };
    const { conditions } = plan(asking(spec, { ...input, status: { ...running.status, lifecycle } })).status;
    const found = conditions?.find(({ type }) => type === 'SnapshotMissed');
    return [found?.status, found?.reason, found?.message];
  };

  it('is true by time alone, an hour after a snapshot was due, and says how old the newest is', () => {
    const due = new Date(running.now).toISOString();
    assert.deepEqual(said(0.9), ['False', 'Taken', 'there is none']);
    assert.deepEqual(said(1.1), ['True', 'Missed', `due since ${due}; there is none`]);
    const newest = '2029-12-31T03:00:00.000Z';
    assert.deepEqual(said(1.1, {}, newest), ['True', 'Missed', `due since ${due}; the newest is of ${newest}`]);
    assert.deepEqual(said(30, { missedSince: undefined }, newest), ['False', 'Taken', `the newest is of ${newest}`]);
  });

  it('is false where nothing is scheduled', () => {
    assert.equal(reasonOf(plan(asking({})), 'SnapshotMissed'), 'NotScheduled');
  });
});

describe('a schedule', () => {
  const spec = specOf('1.0.0', {
    environment: 'Staging',
    lifecycle: { clone: { sourceSecret: 's', schedule: '0 3 * * *' } },
  });
  const at = (time: string): Date => new Date(`2030-01-${time}:00Z`);

  it('waits for its first tick, and takes the ticks that it missed as one', () => {
    const seen = advanceSchedule(noLifecycle, spec, at('01T12:00'));
    assert.deepEqual([seen.lastScheduledAt, seen.nextScheduleAt], [undefined, '2030-01-02T03:00:00.000Z']);
    const later = advanceSchedule(seen, spec, at('05T12:00'));
    assert.deepEqual(
      [later.lastScheduledAt, later.nextScheduleAt],
      ['2030-01-02T03:00:00.000Z', '2030-01-06T03:00:00.000Z'],
    );
  });

  it('does not start a clone anew while one is under way', () => {
    const seen = advanceSchedule(noLifecycle, spec, at('01T12:00'));
    const busy = { ...seen, pipeline: 'Tasks' } as const;
    assert.equal(advanceSchedule(busy, spec, at('02T03:01')).lastScheduledAt, undefined);
  });

  it('of snapshots takes ticks that no snapshot followed as one, also while something is under way', () => {
    const snapshots = { database: 'd', schedule: '0 3 * * *' };
    const scheduled = specOf('1.0.0', { lifecycle: { snapshots } });
    const seen = advanceSnapshots({ ...noLifecycle, pipeline: 'Failed' }, scheduled, at('01T12:00'));
    assert.deepEqual(seen.snapshotSchedule, { next: '2030-01-02T03:00:00.000Z' });
    const later = advanceSnapshots(advanceSnapshots(seen, scheduled, at('02T12:00')), scheduled, at('05T12:00'));
    assert.deepEqual(later.snapshotSchedule, {
      next: '2030-01-06T03:00:00.000Z',
      tick: '2030-01-03T03:00:00.000Z',
      missedSince: '2030-01-02T03:00:00.000Z',
    });
    assert.equal(advanceSnapshots(later, specOf('1.0.0'), at('05T12:00')).snapshotSchedule, undefined);
  });

  it('that cannot be parsed is a problem, with what is wrong', () => {
    assert.equal(scheduleProblem('99 99 * * *') === undefined, false);
    assert.match(scheduleProblem('* * *') ?? '', /five fields/);
    assert.equal(scheduleProblem('0 0 31 2 *'), 'this never comes');
    assert.equal(scheduleProblem('0 3 * * *'), undefined);
  });
});
