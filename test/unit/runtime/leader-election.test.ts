// The scenarios of client-go's leader election tests, under their names, and those of a blocked process.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { defaultTimes, LeaderElector, type LeaderElectorOptions } from '../../../src/runtime/leader-elector.ts';
import type { LeaseRecord } from '../../../src/runtime/lease.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { ContextLogger } from './context-logger.ts';

const KEY = 'system/ingester';

/** The way of one candidate to the server, which can break. */
class Line {
  state: 'good' | 'slow' | 'broken' | 'hanging' | 'may only read' = 'good';
  readonly #server: FakeKubeClient;
  readonly #clock: FakeClock;

  constructor(server: FakeKubeClient, clock: FakeClock) {
    this.#server = server;
    this.#clock = clock;
  }

  get client(): LeaderElectorOptions['client'] {
    return {
      get: (...args) => this.#send(() => this.#server.get(...args)),
      create: (resource, namespace, lease) => this.#write(() => this.#server.create(resource, namespace, lease)),
      update: (ref, lease) => this.#write(() => this.#server.update(ref, lease)),
    };
  }

  #write<T>(call: () => Promise<T>): Promise<T> {
    if (this.state === 'may only read') return Promise.reject(new KubeError('Forbidden', 'you may not write leases'));
    return this.#send(call);
  }

  #send<T>(call: () => Promise<T>): Promise<T> {
    if (this.state === 'hanging') return new Promise(() => undefined);
    if (this.state === 'slow') return this.#answerLate(call());
    const answers = this.state === 'good' || this.state === 'may only read';
    return answers ? call() : Promise.reject(new KubeError('Unavailable', 'connection refused'));
  }

  /** The server does it now, and this side hears of it two seconds later. */
  async #answerLate<T>(answer: Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.#clock.schedule(2000, resolve));
    return await answer;
  }
}

/** A clock on which time can pass while nothing runs, as it does for a blocked process. */
class BlockableClock extends FakeClock {
  #blockedMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.#blockedMs;
  }

  block(milliseconds: number): void {
    this.#blockedMs += milliseconds;
  }
}

interface Candidate {
  readonly elector: LeaderElector;
  readonly line: Line;
  readonly stop: AbortController;
  readonly ended: Promise<'lost' | 'stopped'>;
  readonly led: () => boolean;
  readonly outcome: () => string | undefined;
}

function world() {
  const clock = new BlockableClock();
  const server = new FakeKubeClient();
  const logger = new ContextLogger();
  const candidate = (identity: string, more: Partial<LeaderElectorOptions> = {}): Candidate => {
    const line = new Line(server, clock);
    const stop = new AbortController();
    const elector = new LeaderElector({
      client: line.client,
      lease: { namespace: 'system', name: 'ingester' },
      identity,
      clock,
      logger,
      random: () => 0,
      ...more,
    });
    let led = false;
    let outcome: string | undefined;
    const ended = elector.run(stop.signal, () => (led = true)).then((how) => (outcome = how));
    return { elector, line, stop, ended, led: () => led, outcome: () => outcome };
  };
  const record = (): LeaseRecord => server.object(KEY)?.['spec'] as unknown as LeaseRecord;
  return { clock, server, logger, candidate, record };
}

describe('LeaderElector', () => {
  it('TestTryAcquireOrRenewLeases: creates the lease when there is none', async () => {
    const { clock, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(0);
    assert.ok(one.led() && one.elector.leads());
    assert.deepEqual(record(), {
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
  });

  it('TestTryAcquireOrRenewLeases: renews every two seconds and keeps since when it holds', async () => {
    const { clock, server, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(60_000);
    assert.ok(one.elector.leads());
    assert.equal(record().renewTime, '2026-01-01T00:01:00.000000Z');
    assert.equal(record().acquireTime, '2026-01-01T00:00:00.000000Z');
    assert.equal(record().leaseTransitions, 0);
    assert.equal(server.calls.filter((call) => call === 'update').length, 30);
  });

  it('TestTryAcquireOrRenewLeases: leaves a valid lease of another alone', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(100);
    const two = candidate('two');
    await clock.advance(120_000);
    assert.deepEqual([one.elector.leads(), two.led()], [true, false]);
  });

  it('TestTryAcquireOrRenewLeases: takes an expired lease, counting a transition', async () => {
    const { clock, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(100);
    const two = candidate('two');
    one.line.state = 'broken';
    await clock.advance(10_000);
    assert.equal(two.led(), false, 'not before a whole lease duration since it saw the lease change');
    await clock.advance(10_000);
    assert.ok(two.elector.leads());
    assert.equal(record().holderIdentity, 'two');
    assert.equal(record().leaseTransitions, 1);
    assert.notEqual(record().acquireTime, '2026-01-01T00:00:00.000000Z');
  });

  it('TestTryAcquireOrRenewLeases: judges by its own clock, whatever the times in the lease say', async () => {
    const { clock, server, candidate } = world();
    const spec = { holderIdentity: 'old', leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z' };
    await server.create({ group: '', version: '', plural: '' }, 'system', { metadata: { name: 'ingester' }, spec });
    const one = candidate('one');
    await clock.advance(14_999);
    assert.equal(one.led(), false, 'the times look long past, but the holder may still renew');
    await clock.advance(2001);
    assert.ok(one.led());
  });

  it('TestTryAcquireOrRenewLeases: takes a lease without a holder at once', async () => {
    const { clock, server, candidate, record } = world();
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4 };
    await server.create({ group: '', version: '', plural: '' }, 'system', { metadata: { name: 'ingester' }, spec });
    const one = candidate('one');
    await clock.advance(0);
    assert.ok(one.led());
    assert.equal(record().leaseTransitions, 5);
  });

  it('TestTryAcquireOrRenewLeases: of two that try at once one wins', async () => {
    const { clock, candidate } = world();
    const both = [candidate('one'), candidate('two')];
    await clock.advance(5000);
    assert.equal(both.filter(({ elector }) => elector.leads()).length, 1);
  });

  it('never has two leaders, whatever breaks', async () => {
    const { clock, candidate } = world();
    const all = ['one', 'two', 'three'].map((identity) => candidate(identity));
    for (let step = 0; step < 200; step += 1) {
      const { line } = all[step % all.length] ?? all[0]!;
      line.state = (['good', 'broken', 'hanging', 'good'] as const)[(step * 7) % 4] ?? 'good';
      await clock.advance(731);
      assert.ok(all.filter(({ elector }) => elector.leads()).length <= 1);
    }
    for (const { stop } of all) stop.abort();
    await clock.advance(60_000);
    await Promise.all(all.map(({ ended }) => ended));
    assert.equal(clock.pending, 0);
  });

  it('TestFastPathLeaderElection: a leader renews without reading, and reads after a failure', async () => {
    const { clock, server, candidate } = world();
    const metrics = createMetrics();
    const one = candidate('one', { metrics: metrics.leaderElection.forLease('ingester') });
    await clock.advance(10_000);
    assert.equal(server.calls.filter((call) => call === 'get').length, 1);
    server.failures.push({ call: 'update', error: new KubeError('Conflict', 'another client wrote it') });
    await clock.advance(2000);
    assert.equal(server.calls.filter((call) => call === 'get').length, 2);
    assert.ok(one.elector.leads());
    const text = await metrics.registry.metrics();
    assert.match(text, /leader_election_slowpath_total\{name="ingester"\} 1/);
    assert.match(text, /leader_election_master_status\{name="ingester"\} 1/);
    one.stop.abort();
    await one.ended;
    assert.match(await metrics.registry.metrics(), /leader_election_master_status\{name="ingester"\} 0/);
  });

  it('keeps what others wrote into the lease', async () => {
    const { clock, server, candidate } = world();
    candidate('one');
    await clock.advance(0);
    const lease = server.object(KEY)!;
    server.put({ ...lease, metadata: { ...lease.metadata, labels: { team: 'a' } } });
    await clock.advance(4000);
    assert.deepEqual(server.object(KEY)?.metadata.labels, { team: 'a' });
  });

  it('TestReleaseLeaseLeases, TestReleaseOnCancellation_Leases: gives the lease up when it stops', async () => {
    const { clock, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(100);
    one.stop.abort();
    assert.equal(await one.ended, 'stopped');
    assert.deepEqual([record().holderIdentity, record().leaseDurationSeconds], ['', 1]);
    assert.equal(one.elector.leads(), false);
    assert.equal(clock.pending, 0);
    const two = candidate('two');
    await clock.advance(0);
    assert.ok(two.led(), 'the next need not wait');
    assert.equal(record().leaseTransitions, 1);
  });

  it('TestReleaseRetriesOnConflict: gives up in spite of a conflict', async () => {
    const { clock, server, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(0);
    server.failures.push({ call: 'update', error: new KubeError('Conflict', 'modified') });
    one.stop.abort();
    await clock.advance(1000);
    assert.equal(await one.ended, 'stopped');
    assert.equal(record().holderIdentity, '');
  });

  it('stops in bounded time when the server does not answer', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    one.line.state = 'hanging';
    one.stop.abort();
    await clock.advance(10_000);
    assert.equal(one.outcome(), 'stopped');
    assert.equal(clock.pending, 0);
  });

  it('logs once which right is missing, and leads when the right is there', async () => {
    const { clock, logger, candidate } = world();
    const one = candidate('one');
    one.line.state = 'may only read';
    await clock.advance(60_000);
    const warnings = logger.shown().filter(([level]) => level === 'warn');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.[1] ?? '', /get, create and update on leases in the group coordination\.k8s\.io/);
    one.line.state = 'good';
    await clock.advance(5000);
    assert.ok(one.elector.leads());
    one.line.state = 'may only read';
    await clock.advance(6000);
    assert.equal(logger.shown().filter(([level]) => level === 'warn').length, 2, 'it is news again');
  });

  it('shows no log line about a server that is away', async () => {
    const { clock, logger, candidate } = world();
    candidate('one').line.state = 'broken';
    await clock.advance(60_000);
    assert.deepEqual(logger.shown(), []);
  });

  it('a candidate that stops leaves the lease of the leader alone', async () => {
    const { clock, candidate, record } = world();
    candidate('one');
    await clock.advance(0);
    const two = candidate('two');
    await clock.advance(5000);
    two.stop.abort();
    assert.equal(await two.ended, 'stopped');
    assert.equal(record().holderIdentity, 'one');
  });

  it('does not give the lease up when it is abandoned', async () => {
    const { clock, candidate, record } = world();
    const one = candidate('one');
    await clock.advance(0);
    one.elector.abandon();
    assert.equal(await one.ended, 'stopped');
    assert.equal(record().holderIdentity, 'one');
    assert.equal(clock.pending, 0);
  });

  it('candidates wait one to 2.2 retry periods between attempts', async () => {
    const { clock, server, candidate } = world();
    candidate('one');
    await clock.advance(0);
    const attempts = (): number => server.calls.filter((call) => call === 'get').length;
    candidate('two', { random: () => 0.999 });
    await clock.advance(0);
    const before = attempts();
    await clock.advance(4390);
    assert.equal(attempts(), before);
    await clock.advance(10);
    assert.equal(attempts(), before + 1);
  });

  it('TestLeaderElectionConfigValidation', () => {
    const { candidate } = world();
    for (const [times, problem] of [
      [{ leaseDurationMs: 10_000 }, /lease duration must be longer than the renew deadline/],
      [{ retryPeriodMs: 9000 }, /renew deadline must be longer/],
      [{ retryPeriodMs: 0 }, /retry period must be positive/],
    ] as const) {
      assert.throws(() => candidate('one', { times: { ...defaultTimes, ...times } }), problem);
    }
    assert.throws(() => candidate(''), { code: 'LEADER_ELECTION_CONFIG' });
  });
});

describe('LeaderElector, losing the lease', () => {
  for (const state of ['broken', 'hanging'] as const) {
    it(`gives up ten seconds after the last renewal when the server is ${state}, before another replica takes over`, async () => {
      const { clock, candidate } = world();
      const one = candidate('one');
      await clock.advance(100);
      const two = candidate('two');
      one.line.state = state;
      await clock.advance(9899);
      assert.ok(one.elector.leads());
      await clock.advance(1);
      assert.equal(one.outcome(), 'lost');
      assert.equal(one.elector.leads(), false);
      assert.equal(two.led(), false);
    });
  }

  it('counts from before the request that won the lease, not from its answer', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    one.line.state = 'slow';
    await clock.advance(3000);
    assert.ok(one.elector.leads(), 'the answer took two seconds');
    one.line.state = 'broken';
    await clock.advance(6999);
    assert.ok(one.elector.leads());
    await clock.advance(1);
    assert.equal(one.outcome(), 'lost');
  });

  it('counts from before the request that renewed the lease, not from its answer', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    one.line.state = 'slow';
    await clock.advance(4000);
    one.line.state = 'broken';
    await clock.advance(7999);
    assert.ok(one.elector.leads());
    await clock.advance(1);
    assert.equal(one.outcome(), 'lost');
  });

  it('survives a failure that is shorter than the deadline', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    one.line.state = 'broken';
    await clock.advance(7000);
    one.line.state = 'good';
    await clock.advance(60_000);
    assert.ok(one.elector.leads());
  });

  it('gives up at once when it sees that another holds the lease', async () => {
    const { clock, server, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    const lease = server.object(KEY)!;
    server.put({ ...lease, spec: { ...(lease['spec'] as object), holderIdentity: 'thief' } });
    await clock.advance(2000);
    assert.equal(one.outcome(), 'lost');
  });

  it('a blocked process notices before it does anything more', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    clock.block(10_001);
    assert.equal(one.elector.leads(), false, 'asked before any timer has fired');
    await settle();
    assert.equal(one.outcome(), 'lost');
  });

  it('a blocked process notices by itself, and does not renew any more', async () => {
    const { clock, server, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    const renewals = server.calls.length;
    clock.block(14_000);
    await clock.advance(2000);
    assert.equal(one.outcome(), 'lost');
    assert.equal(server.calls.length, renewals);
  });

  it('a process blocked for less than the deadline goes on', async () => {
    const { clock, candidate } = world();
    const one = candidate('one');
    await clock.advance(0);
    clock.block(7000);
    assert.ok(one.elector.leads());
    await clock.advance(10_000);
    assert.ok(one.elector.leads());
  });

  it('TestCheckMethodRace: asking never makes a leader of a candidate', async () => {
    const { clock, candidate } = world();
    candidate('one');
    await clock.advance(0);
    const two = candidate('two');
    assert.equal(two.elector.leads(), false);
    await clock.advance(30_000);
    assert.equal(two.elector.leads(), false);
  });
});
