import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BackoffSpec, IngesterSpec } from '../../../src/api/ingester/spec.ts';
import type { IngesterStatus } from '../../../src/api/ingester/status.ts';
import {
  ALLOW_DOWNGRADE_ANNOTATION,
  APPROVE_UPGRADE_ANNOTATION,
  APPROVED_BY_ANNOTATION,
  REJECT_UPGRADE_ANNOTATION,
} from '../../../src/api/names.ts';
import type { ObservedJob } from '../../../src/lifecycle/plan/observed.ts';
import { pendingSteps } from '../../../src/lifecycle/plan/pending.ts';
import { type Plan, type PlanInput, plan } from '../../../src/lifecycle/plan/plan.ts';
import { waitAfter } from '../../../src/lifecycle/plan/run-step.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';
import { problemsOf } from '../../../src/lifecycle/plan/validate.ts';
import { observedStateOf, type Sim, specOf } from '../../support/lifecycle-model.ts';
import { after, asking, failing, inputOf, messageOf, reasonOf, running } from '../../support/lifecycle-plans.ts';

/** An installation whose migration runs. */
function migrating(job: Partial<ObservedJob>, more: Partial<PlanInput> = {}): PlanInput {
  const first = inputOf({ ...running, status: {}, components: {}, jobs: [], service: 'absent', page: 'absent' });
  const started = after(first, 3);
  const run = started.status.lifecycle?.steps.migrate?.run ?? '';
  const observed = {
    ...first.observed,
    jobs: [{ step: 'migrate', run, state: 'active', deleting: false, pods: 1, ...job } as const],
  };
  return { ...first, status: started.status, observed, ...more };
}

describe('a step', () => {
  it('is on record before it has a Job', () => {
    const { status, desired } = plan(migrating({}));
    assert.equal(status.lifecycle?.steps.migrate?.state, 'Running');
    assert.equal(desired?.job?.run, status.lifecycle.steps.migrate.run);
  });

  it('waits twice as long after each attempt, five minutes at most', () => {
    const waits = [1, 2, 3, 6, 20].map((attempts) => waitAfter(attempts));
    assert.deepEqual(waits, [10_000, 20_000, 40_000, 300_000, 300_000]);
  });

  it('waits as its task says', () => {
    const waits = (backoff: BackoffSpec): readonly number[] =>
      [1, 2, 3, 100].map((attempts) => waitAfter(attempts, backoff));
    assert.deepEqual(waits({ duration: '1s', factor: 3, maxDuration: '1m' }), [1000, 3000, 9000, 60_000]);
    assert.deepEqual(waits({ factor: 1 }), [10_000, 10_000, 10_000, 10_000]);
    const lifecycle = { init: { disabled: true }, migrate: { backoff: { duration: '45s' } } };
    const failing = migrating({ state: 'failed', pods: 0, message: 'lost the connection' });
    const { status } = plan({ ...failing, spec: specOf('1.0.0', { lifecycle }) });
    const { nextAttemptAt = '' } = status.lifecycle?.steps.migrate ?? {};
    assert.equal(Date.parse(nextAttemptAt) - failing.now.getTime(), 45_000);
  });

  it('is tried again after its wait, and not before', () => {
    const spec = specOf('1.0.0', { lifecycle: { init: { disabled: true } } });
    const failing = migrating({ state: 'failed', pods: 0, message: 'lost the connection' });
    const { status } = plan({ ...failing, spec });
    const { nextAttemptAt = '', attempts } = status.lifecycle?.steps.migrate ?? {};
    assert.equal(attempts, 1);
    assert.equal(Date.parse(nextAttemptAt) - failing.now.getTime(), 10_000);
    const idle = { ...failing, spec, status, observed: { ...failing.observed, jobs: [] } };
    assert.equal(plan(idle).desired?.job, undefined);
    assert.notEqual(plan({ ...idle, now: new Date(nextAttemptAt) }).desired?.job, undefined);
  });

  it('starts at attempt one for other inputs, whatever failed before', () => {
    const spec = specOf('1.0.0', { lifecycle: { init: { disabled: true } } });
    const failing = migrating({ state: 'failed', pods: 0, message: 'lost the connection' });
    const { status } = plan({ ...failing, spec });
    assert.equal(status.lifecycle?.steps.migrate?.attempts, 1);
    const other = { ...spec, lifecycle: { ...spec.lifecycle, migrate: { trigger: 'again' } } };
    const idle = { ...failing, spec: other, status, observed: { ...failing.observed, jobs: [] } };
    const { attempts, state } = plan(idle).status.lifecycle?.steps.migrate ?? {};
    assert.deepEqual([attempts, state], [0, 'Running']);
  });

  it('is not tried again where its exit code says that it would fail the same way', () => {
    const spec = specOf('1.0.0', { lifecycle: { init: { disabled: true } } });
    const { status } = plan({ ...migrating({ state: 'failed', pods: 0, exitCode: 3, message: 'newer' }), spec });
    assert.equal(status.lifecycle?.steps.migrate?.state, 'Failed');
  });

  it('reports that its pod cannot start, and starts anew when the pod is another', () => {
    const stuck = migrating({ cannotStart: 'ErrImagePull' });
    const told = plan(stuck);
    assert.equal(reasonOf(told, 'LifecycleComplete'), 'TaskCannotStart');
    const mended = plan({ ...stuck, status: told.status, rendered: { ...stuck.rendered, pod: () => 'mended' } });
    assert.deepEqual(
      mended.events.map(({ reason }) => reason),
      ['TaskRecovering'],
    );
    assert.equal(mended.status.lifecycle?.steps.migrate?.state, 'Pending');
  });
});

describe('a failure for good', () => {
  const rollback = { enabled: false };

  it('of init after the migration keeps no component down, and is reported', () => {
    const { made } = failing('init', { version: '2.0.0', lifecycle: { rollback } });
    assert.equal(made.status.phase, 'Failed');
    assert.equal(made.desired?.components, 'apply');
    assert.match(
      messageOf(made),
      /change spec\.lifecycle\.init\.trigger, or the version; meanwhile the components run/,
    );
  });

  it('of an init that asks to quiesce writers keeps the components down', () => {
    const { made } = failing('init', { version: '2.0.0', lifecycle: { rollback, init: { requiresQuiesce: true } } });
    assert.deepEqual([made.status.phase, made.desired?.components], ['Failed', 'remove']);
  });

  it('of a step that is no task names the trigger that tries the step again', () => {
    const lifecycle = { rollback, init: { disabled: true } };
    const { input, made } = failing('quiesce', { version: '2.0.0', lifecycle });
    assert.match(messageOf(made), /^quiesce: .* change spec\.lifecycle\.migrate\.trigger/);
    assert.equal(plan({ ...input, status: made.status }).status.phase, 'Failed');
    const spec = { ...running.spec, version: '2.0.0', lifecycle: { ...lifecycle, migrate: { trigger: 'again' } } };
    const again = after({ ...input, spec, status: made.status, observed: { ...input.observed, jobs: [] } }, 4);
    assert.equal(again.status.lifecycle?.steps.quiesce?.state, 'Running');
  });
});

describe('checksums', () => {
  const due = (spec: IngesterSpec, completed = {}): readonly string[] =>
    pendingSteps({ uid: 'u', spec, lifecycle: { ...noLifecycle, completed }, migratedVersion: undefined }).map(
      ({ step }) => step.name,
    );
  const sums = (spec: IngesterSpec): Readonly<Record<string, string>> =>
    Object.fromEntries(
      pendingSteps({ uid: 'u', spec, lifecycle: noLifecycle, migratedVersion: undefined }).map(({ step, checksum }) => [
        step.name,
        checksum,
      ]),
    );
  const spec: IngesterSpec = { version: '1.0.0', database: { credentialsSecret: 's' } };

  it('cascade: a change upstream makes every task downstream due', () => {
    const done = sums(spec);
    assert.deepEqual(due(spec, done), []);
    assert.deepEqual(due({ ...spec, version: '1.1.0' }, done), ['migrate', 'init']);
    assert.deepEqual(due({ ...spec, lifecycle: { init: { trigger: 'x' } } }, done), ['init']);
  });

  it('stay when a task is switched off', () => {
    assert.deepEqual(due({ ...spec, lifecycle: { migrate: { disabled: true } } }, sums(spec)), []);
  });

  it('leave out where and how a task runs', () => {
    const placed: IngesterSpec = {
      ...spec,
      podTemplate: { priorityClassName: 'high' },
      lifecycle: { migrate: { timeout: '1m', maxAttempts: 9, backoff: { factor: 3 } } },
    };
    assert.deepEqual(due(placed, sums(spec)), []);
  });

  it('equal the checksums of the release before: other checksums would run every task of every installation', () => {
    assert.deepEqual(
      Object.values(sums(spec)).map((sum) => sum.slice(0, 12)),
      ['828a48afdd32', '94f68be8d68e'],
    );
  });
});

describe('a rollback', () => {
  const quiescing: IngesterStatus = {
    ...plan(asking({ version: '2.0.0' })).status,
  };
  const late = new Date(running.now + 3_600_000);

  it('comes when the deadline has passed, and the same target is not tried again', () => {
    const input = asking({ version: '2.0.0' }, { status: quiescing, now: late });
    const made = after(input, 3);
    assert.equal(made.status.target?.spec.version, '1.0.0');
    assert.notEqual(reasonOf(made, 'LifecycleComplete'), undefined);
    assert.equal(made.status.phase, 'Blocked');
  });

  it('names what the attempt waited for until the specification changes', () => {
    const problem = 'ImagePullBackOff: no such image';
    const observed = observedStateOf({ ...running, components: {} });
    const maintenance = { ...observed.maintenance, problem };
    const input = asking(
      { version: '2.0.0' },
      { status: quiescing, now: late, observed: { ...observed, maintenance } },
    );
    const cause = `was not ready in time: maintenance page: ${problem}`;
    const made = plan(input);
    const [note] = made.events.filter(({ reason }) => reason === 'RolledBack').map((event) => event.note);
    assert.equal(note, `2.0.0 ${cause}; going back to 1.0.0`);
    const back = after(asking({ version: '2.0.0' }, { status: made.status, now: late }), 5);
    assert.equal(messageOf(back), `2.0.0 ${cause}. It was given up; change the specification to try again`);
    const another = plan(asking({ version: '3.0.0' }, { status: back.status, now: late }));
    assert.equal(another.status.lifecycle?.rejectedBecause, undefined);
  });

  it('does not come once a migration has begun, nor where it is switched off', () => {
    const attempt = quiescing.lifecycle?.attempt;
    assert.ok(attempt !== undefined && quiescing.lifecycle !== undefined);
    const begun = {
      ...quiescing,
      lifecycle: { ...quiescing.lifecycle, attempt: { ...attempt, mayHaveMigrated: true } },
    };
    assert.equal(plan(asking({ version: '2.0.0' }, { status: begun, now: late })).status.target?.spec.version, '2.0.0');
    const off = { version: '2.0.0', lifecycle: { ...running.spec.lifecycle, rollback: { enabled: false } } };
    const status = plan(asking(off)).status;
    assert.equal(plan(asking(off, { status, now: late })).status.target?.spec.version, '2.0.0');
  });
});

describe('a quiesce', () => {
  it('is reported when it hangs, and counts components that are gone as quiesced', () => {
    const begun = plan(asking({ version: '2.0.0', lifecycle: { rollback: { enabled: false } } }));
    const spec = begun.status.target?.spec ?? running.spec;
    const waiting = (now: Date, components: Sim['components']): Plan =>
      plan(inputOf({ ...running, spec, status: begun.status, components }, { now }));
    const { components } = running;
    assert.equal(reasonOf(waiting(new Date(running.now + 60_000), components), 'LifecycleComplete'), 'Quiescing');
    const late = waiting(new Date(running.now + 600_000), components);
    assert.equal(reasonOf(late, 'LifecycleComplete'), 'QuiesceStuck');
    assert.equal(waiting(new Date(running.now + 60_000), {}).status.components?.query?.phase, 'Quiesced');
  });
});

describe('a refusal', () => {
  it('holds back a downgrade, and lets every other change of the edit through', () => {
    const made = plan(asking({ version: '0.9.0', forceReload: 'now' }));
    assert.equal(made.status.phase, 'Blocked');
    assert.equal(made.status.target?.spec.version, '1.0.0');
    assert.equal(made.status.target.spec.forceReload, 'now');
    assert.equal(made.desired?.components, 'apply');
  });

  it('of a downgrade ends with the annotation of exactly that way', () => {
    const target = (way: string): string | undefined =>
      plan(asking({ version: '0.9.0' }, { annotations: { [ALLOW_DOWNGRADE_ANNOTATION]: way } })).status.target?.spec
        .version;
    const ways = ['1.0.0:0.9.0', '1.0.0:0.8.0', '1.1.0:0.9.0', '0.9.0'];
    assert.deepEqual(ways.map(target), ['0.9.0', '1.0.0', '1.0.0', '1.0.0']);
  });

  it('holds back a version without an order, and the version after it, so that two steps are no way down', () => {
    const target = (migratedVersion: string, version: string, way = ''): string | undefined => {
      const { status } = plan(asking({}));
      const annotations = { [ALLOW_DOWNGRADE_ANNOTATION]: way };
      return plan(asking({ version }, { status: { ...status, migratedVersion }, annotations })).status.target?.spec
        .version;
    };
    const held = '1.0.0';
    assert.equal(target('1.0.0', 'nightly'), held);
    assert.equal(target('1.0.0', 'nightly', 'nightly'), held);
    assert.equal(target('1.0.0', 'nightly', '1.0.0:nightly'), 'nightly');
    assert.equal(target('nightly', '0.9.0'), held);
    assert.equal(target('nightly', '2.0.0'), held);
    assert.equal(target('nightly', '0.9.0', '1.0.0:0.9.0'), held);
    assert.equal(target('nightly', '0.9.0', 'nightly:0.9.0'), '0.9.0');
    assert.equal(target('nightly', 'nightly'), 'nightly');
    const { events } = plan(asking({ version: 'nightly' }));
    assert.match(
      events.find(({ reason }) => reason === 'DowngradeBlocked')?.note ?? '',
      /cannot be compared.*1\.0\.0:nightly/,
    );
  });

  it('of an invalid specification leaves the last valid one in force', () => {
    const made = plan(asking({}, { spec: undefined, problems: ['spec.config.mysql: no'] }));
    assert.equal(reasonOf(made, 'SpecValid'), 'Invalid');
    assert.equal(made.status.target?.spec.version, '1.0.0');
    assert.equal(made.desired?.components, 'apply');
  });
});

describe('a supervised upgrade', () => {
  const lifecycle = { ...running.spec.lifecycle, upgradeMode: 'Supervised', approvalTimeout: '24h' } as const;
  const spec = { version: '2.0.0', lifecycle };
  const waiting = plan(asking(spec));
  const token = waiting.status.lifecycle?.upgrade?.token ?? '';

  it('waits, with the command that approves it in an event', () => {
    assert.equal(waiting.status.phase, 'AwaitingApproval');
    assert.equal(waiting.status.target?.spec.version, '1.0.0');
    assert.ok(waiting.events.some(({ reason, note }) => reason === 'ApprovalRequested' && note.includes(token)));
  });

  it('takes an approval only after the request was on record', () => {
    const annotations = { [APPROVE_UPGRADE_ANNOTATION]: token };
    assert.equal(plan(asking(spec, { annotations })).status.target?.spec.version, '1.0.0');
    const made = plan(asking(spec, { annotations, status: waiting.status }));
    assert.equal(made.status.target?.spec.version, '2.0.0');
    assert.deepEqual(made.desired?.removeAnnotations, []);
    assert.deepEqual(plan(asking(spec, { annotations, status: made.status })).desired?.removeAnnotations, [
      APPROVE_UPGRADE_ANNOTATION,
      APPROVED_BY_ANNOTATION,
    ]);
  });

  it('needs another approval for another target', () => {
    const annotations = { [APPROVE_UPGRADE_ANNOTATION]: token };
    const made = plan(asking({ ...spec, version: '3.0.0' }, { annotations, status: waiting.status }));
    assert.equal(made.status.target?.spec.version, '1.0.0');
    assert.notEqual(made.status.lifecycle?.upgrade?.token, token);
  });

  it('stays with the running version when it is rejected', () => {
    const annotations = { [REJECT_UPGRADE_ANNOTATION]: token };
    const made = after(asking(spec, { annotations, status: waiting.status }), 2);
    assert.equal(reasonOf(made, 'LifecycleComplete'), 'UpgradeRejected');
    assert.equal(made.status.target?.spec.version, '1.0.0');
  });

  it('is asked for anew when no user decides in time', () => {
    const made = plan(asking(spec, { status: waiting.status, now: new Date(running.now + 25 * 3_600_000) }));
    assert.notEqual(made.status.lifecycle?.upgrade?.token, token);
    assert.ok(made.events.some(({ reason }) => reason === 'ApprovalExpired'));
  });
});

describe('another specification', () => {
  it('is reported field by field, with the consequence of each change', () => {
    const { events } = plan(asking({ version: '2.0.0', forceReload: 'x' }));
    const { note } = events.find(({ reason }) => reason === 'SpecChanged') ?? {};
    assert.equal(note, 'version (upgrade), forceReload (upgrade)');
    assert.ok(!plan(asking({})).events.some(({ reason }) => reason === 'SpecChanged'));
  });

  it('has all its time, however long the specification before has taken, and ends a rollback', () => {
    const { status } = plan(asking({ version: '2.0.0' }));
    const late = new Date(running.now + 3_600_000);
    const back = after(asking({ version: '2.0.0' }, { status, now: late }), 2);
    assert.equal(back.status.lifecycle?.attempt?.kind, 'Rollback');
    const other = after(asking({ version: '3.0.0' }, { status: back.status, now: late }), 2);
    assert.deepEqual([other.status.target?.spec.version, other.status.lifecycle?.attempt?.kind], ['3.0.0', 'Upgrade']);
    const later = new Date(late.getTime() + 3_600_000);
    assert.equal(
      plan(asking({ version: '3.0.0' }, { status: other.status, now: later })).status.target?.spec.version,
      '1.0.0',
    );
  });
});

describe('suspending', () => {
  it('is over only when the components have their pods again', () => {
    const none = { desired: 0, ready: 0, updated: 0, available: 0 };
    const of = (more: Partial<PlanInput>): IngesterStatus => {
      const input = inputOf(running);
      const query = { ...input.observed.components.query, ...none };
      const observed = { ...input.observed, components: { ...input.observed.components, query } };
      return plan({ ...input, observed, ...more }).status;
    };
    const suspended = of({ suspended: true });
    assert.deepEqual([suspended.phase, suspended.ready], ['Suspended', '0/0']);
    const resumed = of({});
    assert.deepEqual([resumed.phase, resumed.ready], ['Degraded', '0/1']);
  });

  it('changes nothing, and names the task that runs', () => {
    const made = plan(migrating({}, { suspended: true }));
    assert.equal(made.desired, undefined);
    assert.equal(made.status.phase, 'Suspended');
    assert.match(
      made.status.conditions?.find(({ type }) => type === 'Suspended')?.message ?? '',
      /still running: migrate-1/,
    );
  });
});

describe('a specification', () => {
  it('is refused with all its problems at once, each with its path', () => {
    const spec: IngesterSpec = {
      version: '1',
      database: { credentialsSecret: 's' },
      config: { mysql: {} },
      lifecycle: {
        clone: { sourceSecret: 's', schedule: 'often' },
        snapshots: { database: 'd', schedule: 'daily' },
        init: { disabled: true },
        migrate: { backoff: { duration: '0s', maxDuration: '9999999999h' } },
        rotate: { backoff: { duration: '1s', maxDuration: '24h' } },
        restore: { snapshot: 's', nonce: 'n', replaceDataOf: 'd' },
      },
    };
    const paths = problemsOf('x'.repeat(60), spec).map((problem) => problem.split(':')[0]);
    assert.deepEqual(paths, [
      'metadata.name',
      'spec.lifecycle.clone.schedule',
      'spec.lifecycle.snapshots.schedule',
      'spec.lifecycle.restore',
      'spec.lifecycle.migrate.backoff.duration',
      'spec.lifecycle.migrate.backoff.maxDuration',
      'spec.lifecycle.clone',
      'spec.config.mysql',
    ]);
  });
});
