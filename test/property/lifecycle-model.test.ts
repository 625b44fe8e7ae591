// Every state that the lifecycle can get into, from every move of the cluster, of users, of time, and with a crash
// between any two writes. Bounded in edits and failures, and otherwise complete.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type IngesterStatus, type LifecycleStatus, type StepName, stepNames } from '../../src/api/ingester/status.ts';
import { canonicalJson } from '../../src/base/json.ts';
import { pendingSteps } from '../../src/lifecycle/plan/pending.ts';
import { stepOf } from '../../src/lifecycle/plan/steps.ts';
import { noLifecycle } from '../../src/lifecycle/plan/target.ts';
import {
  type Event,
  eventsOf,
  isAtRest,
  restoring,
  type Sim,
  settled,
  specOf,
  start,
} from '../support/lifecycle-model.ts';

interface Seen {
  readonly sim: Sim;
  readonly from: Seen | undefined;
  readonly by: string;
}

interface Walk {
  readonly states: ReadonlyMap<string, Seen>;
  /** Fair moves, by where they lead. */
  readonly into: ReadonlyMap<string, readonly string[]>;
}

/**
 * States that differ in nothing but when they are, how runs are numbered and what is only shown, are one. What decides is
 * named here one by one; a decision by anything else would be missed, so whatever the plan reads belongs here.
 */
function keyOf(sim: Sim): string {
  const { status, annotations, spec } = sim;
  const { version, migratedVersion, target, stable, lifecycle = noLifecycle } = status;
  const { steps, upgrade, snapshotSchedule: schedule } = lifecycle;
  return canonicalJson({
    asked: [target, stable, { spec }].map((each) => [each?.spec.version, each?.spec.suspend]),
    seen: [version, migratedVersion, sim.schema, sim.gateClosed, sim.components, sim.service, sim.page],
    left: [sim.edits, sim.failures],
    jobs: sim.jobs.map(({ run, ...job }) => ({ ...job, current: steps[job.step]?.run === run })),
    restores: [spec.lifecycle?.restore?.nonce, lifecycle.restore?.nonce, lifecycle.restores, sim.asks, sim.restored],
    snapshots: [schedule?.missedSince !== undefined, age(sim.now, schedule?.next)],
    due: dueIn(sim),
    annotated: Object.values(annotations).map((value) => value === upgrade?.token),
    pipeline: pipelineKey(lifecycle, sim.now),
    steps: stepNames.map((name) => stepKey(lifecycle, name, sim.now)),
  });
}

function dueIn({ status: { lifecycle, target, migratedVersion } }: Sim): readonly string[] {
  if (lifecycle === undefined || target === undefined) return [];
  const { spec } = target;
  return pendingSteps({ uid: 'u', spec, lifecycle, migratedVersion }).map(({ step }) => step.name);
}

function pipelineKey(lifecycle: LifecycleStatus, now: number): unknown {
  const { pipeline, attempt, gateHeld, maintenance, served, rejected, restorePoint, quiesceStartedAt, upgrade } =
    lifecycle;
  return [
    [pipeline, gateHeld, maintenance, restorePoint !== undefined, rejected?.slice(0, 8)],
    attempt && [
      attempt.kind,
      attempt.quiesces,
      attempt.mayHaveMigrated,
      attempt.dataReplaced,
      age(now, attempt.startedAt),
    ],
    served && [served.by, age(now, served.since)],
    age(now, quiesceStartedAt),
    upgrade && [upgrade.fromVersion, upgrade.toVersion, upgrade.decision, age(now, upgrade.requestedAt)],
  ];
}

function stepKey({ steps, completed }: LifecycleStatus, name: StepName, now: number): unknown {
  const step = steps[name];
  const done = completed[name];
  const hashes = stepOf(name).cascades ? [done?.slice(0, 8), step?.checksum.slice(0, 8)] : [done !== undefined];
  return [
    step && [step.state, step.attempts, step.final, age(now, step.nextAttemptAt)],
    done === step?.checksum,
    hashes,
  ];
}

function age(now: number, time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  const ms = now - Date.parse(time);
  if (ms < 0) return 'to come';
  if (ms < 3000) return 'now';
  return ms <= 15 * 60_000 ? 'before' : 'long ago';
}

function walk(first: Sim, check: (before: Sim, after: Sim, event: Event) => void): Walk {
  const states = new Map<string, Seen>([[keyOf(first), { sim: first, from: undefined, by: 'start' }]]);
  const into = new Map<string, string[]>();
  const open = [...states.entries()];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const [key, seen] = entry;
    for (const event of eventsOf(seen.sim)) {
      for (const sim of event.to) {
        const found: Seen = { sim, from: seen, by: event.name };
        withPath(found, () => check(seen.sim, sim, event));
        const next = keyOf(sim);
        if (event.fair) into.set(next, [...(into.get(next) ?? []), key]);
        if (states.has(next)) continue;
        states.set(next, found);
        open.push([next, found]);
      }
    }
  }
  return { states, into };
}

/** What led there is the best part of the message. */
function withPath(seen: Seen, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new assert.AssertionError({ message: `${String(error)}\n${pathTo(seen)}` });
  }
}

function pathTo(seen: Seen | undefined): string {
  const steps: string[] = [];
  for (let at = seen; at !== undefined; at = at.from) {
    const { lifecycle, phase } = at.sim.status;
    steps.push(
      `${at.by}: ${at.sim.spec.version} ${phase ?? '-'}/${lifecycle?.pipeline ?? '-'} schema ${at.sim.schema} ${JSON.stringify(at.sim.components)} ${JSON.stringify(at.sim.jobs.map(({ run, state, deleting }) => `${run} ${state}${deleting ? ' deleting' : ''}`))}`,
    );
  }
  return steps.reverse().slice(-40).join('\n');
}

function pods(sim: Sim): number {
  return sim.jobs.filter(({ state }) => state === 'active').length;
}

function neverTwoTasks(_: Sim, after: Sim): void {
  assert.ok(pods(after) <= 1, 'two tasks run at once');
}

function neverAnUnmigratedSchema(_: Sim, after: Sim): void {
  for (const component of Object.values(after.components)) {
    assert.equal(component.version, after.schema, 'a component runs with a schema that is not its own');
    const migrating = after.jobs.some(
      ({ step, state }) => state === 'active' && (step === 'migrate' || step === 'clone'),
    );
    assert.ok(!migrating, 'a component runs beside a task that changes the schema');
  }
}

/** The controller that starts after a crash must know of it. */
function aClosedGateIsKnown(_: Sim, { gateClosed, status }: Sim): void {
  assert.ok(!gateClosed || status.lifecycle?.gateHeld === true, 'the gate is closed and the status does not say so');
}

function neverWithoutApproval(before: Sim, after: Sim): void {
  const [from, to] = [before.status.target?.spec.version, after.status.target?.spec.version];
  if (from === undefined || to === undefined || from === to) return;
  if (to === before.status.stable?.spec.version) return;
  const recorded = before.status.lifecycle?.upgrade;
  assert.equal(recorded?.toVersion, to, 'another version than the approved one');
  const approved = recorded.decision === 'Approved' || Object.values(before.annotations).includes(recorded.token);
  assert.ok(approved, 'no user approved');
}

function neverLosesAnApproval(before: Sim, after: Sim): void {
  const { status } = before;
  const { upgrade } = status.lifecycle ?? {};
  // A user who asks for something else takes it back.
  if (upgrade?.decision !== 'Approved' || before.spec.version !== upgrade.toVersion) return;
  const isBack = after.status.lifecycle?.attempt?.kind === 'Rollback' || after.status.lifecycle?.rejected !== undefined;
  assert.ok(
    isBack || after.status.target?.spec.version === status.target?.spec.version,
    'what was approved is not done',
  );
}

function keepsTheRestorePoint(before: Sim, after: Sim): void {
  const held = before.status.lifecycle?.restorePoint;
  const isOver = after.status.lifecycle?.pipeline === 'Settled';
  if (held !== undefined && !isOver)
    assert.equal(after.status.lifecycle?.restorePoint, held, 'the restore point is lost');
  const migrates = after.jobs.some(({ step, state }) => step === 'migrate' && state === 'active');
  const wants = after.spec.lifecycle?.stateMode === 'Savepoint' && after.status.stable !== undefined;
  if (wants && migrates)
    assert.ok(after.status.lifecycle?.restorePoint !== undefined, 'a migration without a restore point');
}

function restoresOnce(_: Sim, { jobs, restored, status, components, gateClosed }: Sim): void {
  assert.equal(new Set(restored).size, restored.length, 'the same was restored twice');
  for (const { nonce } of jobs.filter(({ step, state }) => step === 'restore' && state === 'active')) {
    assert.ok(nonce !== undefined && status.lifecycle?.restores?.includes(nonce), 'not on record before it has a Job');
    assert.deepEqual(components, {}, 'a restore beside components');
    assert.ok(gateClosed, 'a restore behind an open gate');
    assert.ok(!restored.includes(nonce), 'once more what was restored');
    assert.notEqual(status.lifecycle?.attempt?.kind, 'Rollback', 'what was given up');
  }
}

function restoresNothingUnapproved(before: Sim, after: Sim): void {
  const [known, asked] = [before.status.lifecycle, after.status.lifecycle?.restore];
  if (asked === undefined || known?.restore?.nonce === asked.nonce) return;
  assert.equal(known?.upgrade?.snapshot, asked.snapshot, 'another snapshot than the approved one');
  assert.ok(Object.values(before.annotations).includes(known.upgrade.token), 'no user approved');
}

/** From everywhere, what comes by itself leads to rest. */
function alwaysComesToRest({ states, into }: Walk): void {
  const reaching = new Set([...states].filter(([, { sim }]) => isAtRest(sim)).map(([key]) => key));
  const open = [...reaching];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    for (const from of into.get(key) ?? []) {
      if (reaching.has(from)) continue;
      reaching.add(from);
      open.push(from);
    }
  }
  const wedged = [...states].find(([key]) => !reaching.has(key));
  assert.equal(wedged, undefined, `wedged:\n${pathTo(wedged?.[1])}`);
}

/** A final failure keeps no component down, unless the schema is not that of the target, or it quiesces writers itself. */
function servesBesideAFailure(states: Walk['states']): void {
  let looked = 0;
  for (const seen of states.values()) {
    const { status, components, spec, schema, gateClosed } = seen.sim;
    if (status.lifecycle?.pipeline !== 'Failed' || spec.suspend === true || !isQuiet(seen.sim)) continue;
    if (gateClosed || schema !== status.target?.spec.version || status.lifecycle.steps.init?.state !== 'Failed')
      continue;
    const phases = Object.values(components).map(({ phase }) => phase);
    assert.deepEqual(phases, ['ready'], `down for nothing:\n${pathTo(seen)}`);
    looked += 1;
  }
  assert.ok(looked > 0, 'nothing was looked at');
}

/** Nothing that comes by itself changes it any more. */
function isQuiet(sim: Sim): boolean {
  const fair = eventsOf(sim).filter((event) => event.fair);
  return fair.every(({ to }) => to.every((next) => keyOf(next) === keyOf(sim)));
}

const always = [neverTwoTasks, neverAnUnmigratedSchema, aClosedGateIsKnown];

/** LIFECYCLE_MODEL=deep walks further, for minutes: the target changes while an approved upgrade is under way. */
const deep = process.env['LIFECYCLE_MODEL'] === 'deep';

describe('every reachable state of the lifecycle', () => {
  it('has one task at a time, no unmigrated schema, a known gate and an end, with automatic upgrades', () => {
    const phases = new Set<IngesterStatus['phase']>();
    const found = walk({ ...start, edits: 1, failures: 1 }, (before, after) => {
      for (const check of always) check(before, after);
      phases.add(after.status.phase);
    });
    alwaysComesToRest(found);
    const expected = ['Blocked', 'Failed', 'Initializing', 'Running', 'Suspended', 'Upgrading', undefined];
    assert.deepEqual([...phases].sort(), expected);
  });

  it('serves beside an init that failed for good, once the schema is migrated and the gate is open', () => {
    const lifecycle = { migrate: { maxAttempts: 1 }, init: { maxAttempts: 1 }, rollback: { enabled: true } };
    const failed = new Set<string>();
    const first = settled(specOf('1.0.0', { lifecycle }));
    const found = walk({ ...first, edits: 1, failures: 1, suspends: false }, (before, after) => {
      for (const check of always) check(before, after);
      const { pipeline, steps } = after.status.lifecycle ?? noLifecycle;
      if (pipeline === 'Failed' && steps.init?.state === 'Failed') failed.add(after.spec.version);
    });
    alwaysComesToRest(found);
    servesBesideAFailure(found.states);
    assert.deepEqual([...failed].sort(), ['2.0.0', '3.0.0']);
  });

  it('opens a gate that a resource of the same name left closed', () => {
    const found = walk({ ...start, gateClosed: true, schema: 'half', edits: 0, failures: 1 }, (before, after) => {
      for (const check of [neverTwoTasks, neverAnUnmigratedSchema]) check(before, after);
    });
    alwaysComesToRest(found);
    const ended = [...found.states.values()].filter(({ sim }) => sim.status.lifecycle?.pipeline === 'Settled');
    assert.notEqual(ended.filter(({ sim }) => sim.status.phase === 'Running').length, 0);
    for (const { sim } of ended) assert.equal(sim.gateClosed, false);
  });

  it('comes to an end without a quiesce, too', () => {
    const lifecycle = { ...start.spec.lifecycle, migrate: { requiresQuiesce: false, maxAttempts: 1 } };
    const first = { ...start, spec: specOf('1.0.0', { lifecycle }), suspends: false, failures: 0 };
    const found = walk(first, (before, after) => {
      for (const check of [neverTwoTasks, aClosedGateIsKnown]) check(before, after);
    });
    alwaysComesToRest(found);
    const versions = [...found.states.values()].filter(({ sim }) => isAtRest(sim)).map(({ sim }) => sim.status.version);
    assert.deepEqual([...new Set(versions)].sort(), ['1.0.0', '2.0.0', '3.0.0']);
  });

  it('loses no approval and no restore point, with supervised upgrades and snapshots', () => {
    const lifecycle = { ...start.spec.lifecycle, upgradeMode: 'Supervised', stateMode: 'Savepoint' } as const;
    const phases = new Set<IngesterStatus['phase']>();
    const first = settled(specOf('1.0.0', { lifecycle }));
    const found = walk({ ...first, edits: deep ? 2 : 1, suspends: false }, (before, after) => {
      for (const check of [...always, neverWithoutApproval, neverLosesAnApproval, keepsTheRestorePoint])
        check(before, after);
      phases.add(after.status.phase);
    });
    alwaysComesToRest(found);
    assert.ok(phases.has('AwaitingApproval'));
  });

  it('goes back to a snapshot once for each nonce, quiesced and behind a closed gate, and migrates it', () => {
    const snapshots = { database: 'snapshots' };
    const first = settled(specOf('1.0.0', { lifecycle: { ...start.spec.lifecycle, snapshots } }));
    const ended = new Set<string>();
    const users = { suspends: false, versions: deep ? ['1.0.0', '2.0.0'] : [], asks: ['a', ''] };
    const bounds = deep
      ? [{ edits: 2, failures: 1 }]
      : [
          { edits: 2, failures: 0 },
          { edits: 1, failures: 1 },
        ];
    for (const bound of bounds) {
      const found = walk({ ...first, ...users, ...bound }, (before, after) => {
        for (const check of [...always, keepsTheRestorePoint, restoresOnce]) check(before, after);
        if (isAtRest(after) && after.status.lifecycle?.pipeline === 'Settled') ended.add(after.restored.join());
      });
      alwaysComesToRest(found);
    }
    assert.deepEqual([...ended].sort(), ['', 'a']);
  });

  it('goes back to no snapshot that was asked for when the resource was made, nor without an approval', () => {
    const { lifecycle } = start.spec;
    walk({ ...start, spec: restoring(start.spec, 'a'), edits: 0, failures: 1 }, (_, { jobs }) => {
      assert.ok(!jobs.some(({ step }) => step === 'restore'), 'it was there already');
    });
    const supervised = settled(specOf('1.0.0', { lifecycle: { ...lifecycle, upgradeMode: 'Supervised' } }));
    const phases = new Set<IngesterStatus['phase']>();
    const found = walk({ ...supervised, edits: 1, failures: 0, suspends: false, asks: ['a'] }, (before, after) => {
      for (const check of [...always, restoresOnce, restoresNothingUnapproved]) check(before, after);
      phases.add(after.status.phase);
    });
    alwaysComesToRest(found);
    assert.ok(phases.has('AwaitingApproval'));
    assert.ok([...found.states.values()].some(({ sim }) => sim.restored.length > 0));
  });

  it('takes snapshots by schedule beside what runs, and gives one up rather than anything else', () => {
    const snapshots = { database: 'snapshots', schedule: '0 * * * *' };
    const first = settled(specOf('1.0.0', { lifecycle: { ...start.spec.lifecycle, snapshots } }));
    let taken = 0;
    let missed = 0;
    const found = walk({ ...first, edits: 0, failures: 3, suspends: false }, (before, after) => {
      neverTwoTasks(before, after);
      assert.deepEqual([after.status.phase, after.components.query?.phase], ['Running', 'ready']);
      taken = Math.max(taken, after.snapshots);
      if (isAtRest(after) && after.status.lifecycle?.snapshotSchedule?.missedSince !== undefined) missed += 1;
    });
    alwaysComesToRest(found);
    assert.ok(taken > 0 && missed > 0);
  });
});
