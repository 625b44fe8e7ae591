import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControlState, controlRef, evictionPause, resumption } from '../../../src/sync/control-state.ts';
import { type BreakerLimits, DeletionBreaker } from '../../../src/sync/deletion-breaker.ts';
import { EvictionPace } from '../../../src/sync/eviction-pace.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const ref = controlRef('ingester-system');

function setUp(limits: Partial<BreakerLimits>, total = 1000, client = new FakeKubeClient()) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const changes: string[] = [];
  if (client.object('ingester-system/ingester-control') === undefined)
    client.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: ref.namespace, name: ref.name, uid: 'c', resourceVersion: '' },
    });
  const onBreaker = (kind: string, open: boolean) => changes.push(`${kind} ${open ? 'open' : 'closed'}`);
  const state = new ControlState({ client, ref, clock, logger, onBreaker });
  const breaker = new DeletionBreaker({
    kind: 'Model',
    limits: { deletionsPerMinute: 0, deletionsPercent: 0, ...limits },
    total: () => total,
    state,
    clock,
  });
  /** How many of so many deletions pass. */
  const pass = (count: number, prefix = 'u') =>
    Array.from({ length: count }, (_, index) => breaker.admit(`${prefix}${index}`)).filter((why) => why === undefined)
      .length;
  return { client, clock, logger, state, breaker, pass, changes };
}

describe('the deletion breaker', () => {
  it('lets through what is within the limit of a minute, and again the next minute', async () => {
    const { pass, clock } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(5, 'a'), 5);
    await clock.advance(60_000);
    assert.equal(pass(5, 'b'), 5);
  });

  it('opens at the first deletion too many and then holds everything', () => {
    const { pass, breaker, changes, logger } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(8), 5);
    assert.match(breaker.admit('other') ?? '', /More than 5 objects of Model.*ingester resume Model/);
    assert.deepEqual(changes.slice(0, 1), ['Model open']);
    assert.ok(logger.lines.some(({ level }) => level === 'error'));
  });

  it('counts one object once, however often it is asked about', () => {
    const { breaker } = setUp({ deletionsPerMinute: 1 });
    for (let time = 0; time < 10; time += 1) assert.equal(breaker.admit('same'), undefined);
  });

  it('opens at a share of all objects, but not for a handful', () => {
    assert.equal(setUp({ deletionsPercent: 20 }, 100).pass(30), 20);
    assert.equal(setUp({ deletionsPercent: 20 }, 10).pass(9), 9);
  });

  it('stays open after a restart, until a person resumes', async () => {
    const first = setUp({ deletionsPerMinute: 2 });
    first.pass(3);
    await settle();
    const second = setUp({ deletionsPerMinute: 2 }, 1000, first.client);
    await second.state.refresh();
    assert.notEqual(second.breaker.admit('x'), undefined);
    await first.client.mergePatch(ref, { data: resumption(['Model'], new Date(Date.UTC(2026, 0, 1, 1))) });
    await second.state.refresh();
    assert.equal(second.pass(10), 10, 'nothing is counted as too many while it is allowed');
    assert.ok(second.changes.includes('Model closed'));
    await second.clock.advance(3_600_000);
    assert.equal(second.pass(10, 'later'), 2);
  });

  it('stays open in memory while the ConfigMap cannot be written, and is written later', async () => {
    const { pass, client, state, breaker } = setUp({ deletionsPerMinute: 1 });
    const working = client.mergePatch.bind(client);
    client.mergePatch = () => Promise.reject(new TypeError('down'));
    pass(2);
    await settle();
    assert.notEqual(breaker.admit('y'), undefined);
    client.mergePatch = working;
    await state.refresh();
    assert.match(JSON.stringify(client.object('ingester-system/ingester-control')), /breaker\.Model/);
  });
});

describe('the pace of evictions', () => {
  it('gives each its turn, evenly, and keeps a turn that was given', async () => {
    const clock = new FakeClock();
    const pace = new EvictionPace({ perSecond: 2, paused: () => false, clock });
    assert.deepEqual(
      ['a', 'b', 'c'].map((uid) => pace.waitMs(uid)),
      [0, 500, 1000],
    );
    await clock.advance(500);
    assert.equal(pace.waitMs('c'), 500);
    assert.equal(pace.waitMs('b'), 0);
  });

  it('is paused and resumed by the control ConfigMap', async () => {
    const { client, state } = setUp({});
    await client.mergePatch(ref, { data: evictionPause(true) });
    await state.refresh();
    assert.equal(state.evictionPaused, true);
    await client.mergePatch(ref, { data: evictionPause(false) });
    await state.refresh();
    assert.equal(state.evictionPaused, false);
  });
});
