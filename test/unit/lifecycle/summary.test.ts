// What the status and the events of an Ingester resource say, from the first reconcile of an upgrade to its last.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterStatus } from '../../../src/api/ingester/status.ts';
import type { ObservedComponent } from '../../../src/lifecycle/plan/observed.ts';
import { type Plan, plan } from '../../../src/lifecycle/plan/plan.ts';
import { eventsOf, observedStateOf, planOf, reconcile, type Sim, specOf } from '../../support/lifecycle-model.ts';
import { asking, inputOf, reasonOf, running } from '../../support/lifecycle-plans.ts';

/** Each reconcile of an upgrade in which nothing goes wrong. */
function upgrade(): readonly Plan[] {
  const plans: Plan[] = [];
  let sim: Sim = { ...running, spec: { ...running.spec, version: '2.0.0' }, generation: 2, edits: 0, failures: 0 };
  for (let moves = 0; moves < 100; moves += 1) {
    const made = planOf(sim);
    plans.push(made);
    sim = reconcile(sim).at(-1) ?? sim;
    if (made.status.version === '2.0.0') break;
    for (const move of ['pods', 'jobs']) sim = eventsOf(sim).find(({ name }) => name === move)?.to[0] ?? sim;
    sim = { ...sim, now: sim.now + 5000 };
  }
  return plans;
}

function unlikeTheLast<T>(list: readonly T[]): readonly T[] {
  return list.filter((each, index) => each !== list[index - 1]);
}

it('a change is over only when the newest specification of each component was seen', () => {
  const observed = observedStateOf(running);
  const unseen = {
    ...observed,
    components: { ...observed.components, query: { ...observed.components.query, generationObserved: false } },
  };
  const rolledTo = (state: typeof observed): string | undefined => {
    const input = { ...asking({ forceReload: 'now' }), observed: state };
    const begun = plan(input);
    assert.equal(begun.status.lifecycle?.pipeline, 'Updating');
    return plan({ ...input, status: begun.status }).status.lifecycle?.pipeline;
  };
  assert.equal(rolledTo(unseen), 'Updating');
  assert.equal(rolledTo(observed), 'Settled');
});

describe('an upgrade', () => {
  const plans = upgrade();

  it('tells each of its milestones in an event, once and in order', () => {
    const told = plans.flatMap(({ events }) => events.map(({ reason, note }) => `${reason} ${note.split(':')[0]}`));
    assert.deepEqual(
      told.map((text) =>
        text
          .split(' ')
          .slice(0, text.startsWith('Task') ? 2 : 1)
          .join(' '),
      ),
      [
        ...['SpecChanged', 'AttemptStarted', 'QuiescingStarted', 'MaintenanceStarted'],
        ...['TaskStarted quiesce', 'TaskCompleted quiesce', 'TaskStarted migrate', 'TaskCompleted migrate'],
        ...['TaskStarted release', 'TaskCompleted release', 'Restoring', 'MaintenanceEnded', 'Settled'],
      ],
    );
  });

  it('says in its phases what it is at', () => {
    const phases = plans.map(({ status }) => `${status.phase}/${status.lifecycle?.phase}`);
    assert.deepEqual(unlikeTheLast(phases), [
      ...['Upgrading/Quiescing', 'Upgrading/Migrating', 'Upgrading/Releasing', 'Upgrading/Restoring'],
      'Running/Complete',
    ]);
  });

  it('is looked at again soon while it is under way', () => {
    assert.deepEqual(new Set(plans.slice(0, -1).map(({ requeueMs }) => requeueMs)), new Set([5000]));
  });
});

describe('what runs well', () => {
  it('is looked at every fifteen seconds, and at the tick of a schedule', () => {
    assert.equal(plan(asking({})).requeueMs, 15_000);
    const snapshots = { database: 'd', schedule: '* * * * *' };
    const now = new Date('2030-01-01T11:59:55Z');
    const scheduled = plan(asking({ lifecycle: { ...running.spec.lifecycle, snapshots } }, { now }));
    assert.equal(scheduled.requeueMs, 5000);
  });
});

describe('a specification that is not valid', () => {
  it('blocks, where nothing runs yet and where the one before goes on', () => {
    const wrong = { spec: undefined, problems: ['spec.lifecycle.clone.schedule: no'] };
    const absent = { components: {}, jobs: [], service: 'absent', page: 'absent' } as const;
    const first = plan(inputOf({ ...running, ...absent, status: {} }, wrong));
    const later = plan(asking({}, wrong));
    for (const { status } of [first, later]) {
      assert.equal(status.phase, 'Blocked');
      assert.match(status.conditions?.find(({ type }) => type === 'SpecValid')?.message ?? '', /clone\.schedule: no/);
    }
    assert.deepEqual([first.desired, later.desired?.components], [undefined, 'apply']);
  });
});

describe('the change of a specification', () => {
  it('is told once', () => {
    const first = plan(asking({ forceReload: 'x' }));
    const again = plan(asking({ forceReload: 'x' }, { status: first.status }));
    const told = [first, again].map(({ events }) => events.filter(({ reason }) => reason === 'SpecChanged').length);
    assert.deepEqual(told, [1, 0]);
  });
});

describe('the phase of a component', () => {
  const observing = (change: Partial<ObservedComponent>): IngesterStatus => {
    const observed = observedStateOf(running);
    const query = { ...observed.components.query, ...change };
    // As many pods as it has are asked for.
    const asked = { ...running.spec.components?.query, certificateSecret: 'tls', replicas: query.desired };
    return plan(
      asking(
        { components: { query: asked } },
        { observed: { ...observed, components: { ...observed.components, query } } },
      ),
    ).status;
  };
  const none = { ready: 0, updated: 0, available: 0 };
  const cases: readonly (readonly [phase: string, top: string, change: Partial<ObservedComponent>])[] = [
    ['Ready', 'Running', {}],
    ['Ready', 'Running', { desired: 0, ...none }],
    ['Progressing', 'Degraded', { desired: 2 }],
    ['Progressing', 'Degraded', { generationObserved: false }],
    ['Progressing', 'Degraded', { desired: 2, problem: 'x: ErrImagePull' }],
    ['Unavailable', 'Degraded', none],
    ['Unavailable', 'Degraded', { ...none, problem: 'x: CrashLoopBackOff' }],
    ['Pending', 'Degraded', { exists: false, pods: 0, ...none }],
  ];
  for (const [phase, top, change] of cases) {
    it(`is ${phase}, and that of the resource ${top}, with ${JSON.stringify(change)}`, () => {
      const status = observing(change);
      assert.deepEqual([status.components?.query?.phase, status.phase], [phase, top]);
    });
  }

  it('comes with the reason that its pods give, in the condition Degraded too', () => {
    const status = observing({ ...none, problem: 'x: CrashLoopBackOff no room' });
    assert.equal(status.components?.query?.message, 'x: CrashLoopBackOff no room');
    const condition = status.conditions?.find(({ type }) => type === 'Degraded');
    assert.deepEqual([condition?.status, condition?.message], ['True', 'x: CrashLoopBackOff no room']);
  });
});

describe('a condition', () => {
  it('keeps the time of its last transition until its status changes', () => {
    const later = new Date(running.now + 60_000);
    const spec = { lifecycle: { ...running.spec.lifecycle, init: { trigger: 'x' } } };
    const before = running.status.conditions?.find(({ type }) => type === 'Progressing');
    const still = plan(asking({}, { now: later })).status.conditions?.find(({ type }) => type === 'Progressing');
    assert.equal(still?.lastTransitionTime, before?.lastTransitionTime);
    const busy = plan(asking(spec, { now: later })).status.conditions?.find(({ type }) => type === 'Progressing');
    assert.deepEqual([busy?.status, busy?.lastTransitionTime], ['True', later.toISOString()]);
  });

  it('has a reason, whatever its status is', () => {
    const suspended = plan(asking({}, { suspended: true }));
    for (const { status } of [...upgrade(), suspended]) {
      for (const { reason, status: value } of status.conditions ?? []) {
        assert.match(reason, /^[A-Z]\w+$/);
        assert.match(value, /^(True|False|Unknown)$/);
      }
    }
    assert.deepEqual(
      [reasonOf(suspended, 'Suspended'), reasonOf(plan(asking({})), 'Suspended')],
      ['Suspended', 'NotSuspended'],
    );
  });
});

describe('the page in the place of query', () => {
  const begin = (spec: Parameters<typeof asking>[0]): Plan => plan(asking(spec));

  it('comes only where the resource asks for it, and never before something has run', () => {
    const { maintenancePage, ...without } = running.spec.lifecycle ?? {};
    assert.deepEqual(maintenancePage, {});
    assert.equal(begin({ version: '2.0.0' }).status.lifecycle?.maintenance, true);
    assert.equal(begin({ version: '2.0.0', lifecycle: without }).status.lifecycle?.maintenance, false);
    const absent = { components: {}, jobs: [], service: 'absent', page: 'absent' } as const;
    const first = plan(inputOf({ ...running, ...absent, status: {}, spec: specOf('1.0.0') }));
    assert.notEqual(first.status.lifecycle?.pipeline, 'Settled');
    assert.equal(first.status.lifecycle?.maintenance, false);
  });

  it('ends where query or the page itself is no longer asked for', () => {
    const begun = begin({ version: '2.0.0' });
    const { maintenancePage: _, ...without } = running.spec.lifecycle ?? {};
    for (const change of [{ components: { sync: {} } }, { lifecycle: without }]) {
      const spec = { ...running.spec, version: '2.0.0', ...change };
      const made = plan(asking(spec, { status: begun.status }));
      assert.equal(made.status.lifecycle?.maintenance, false);
      assert.ok(made.events.some(({ reason }) => reason === 'MaintenanceEnded'));
    }
  });

  it('is not waited for longer than a quiesce may take', () => {
    const begun = begin({ version: '2.0.0', lifecycle: { ...running.spec.lifecycle, rollback: { enabled: false } } });
    const spec = begun.status.target?.spec ?? running.spec;
    const at = (minutes: number): Plan =>
      plan(asking(spec, { status: begun.status, now: new Date(running.now + minutes * 60_000) }));
    assert.deepEqual(
      [at(1), at(6)].map(({ desired }) => desired?.components),
      ['keep', 'remove'],
    );
    assert.ok(at(6).events.some(({ reason }) => reason === 'MaintenancePageFailed'));
  });
});
