import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dataOf } from '../../../src/kube/resources.ts';
import {
  ControlState,
  controlRef,
  evictionPause,
  openBreakers,
  resumption,
} from '../../../src/sync/flows/control-state.ts';
import { type BreakerLimits, DeletionBreaker } from '../../../src/sync/flows/deletion-breaker.ts';
import { EvictionPace } from '../../../src/sync/flows/eviction-pace.ts';
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
  const admit = (uid: string, namespace = 'a-namespace') => breaker.admit({ uid, namespace });
  const pass = (count: number, prefix = 'u', namespace?: string) =>
    Array.from({ length: count }, (_, index) => admit(`${prefix}${index}`, namespace)).filter(
      (why) => why === undefined,
    ).length;
  return { client, clock, logger, state, breaker, admit, pass, changes };
}

describe('the deletion breaker', () => {
  it('lets deletions through within the limit of a minute, and again the next minute', async () => {
    const { pass, clock } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(5, 'a'), 5);
    await clock.advance(60_000);
    assert.equal(pass(5, 'b'), 5);
  });

  it('opens at the first deletion too many and then holds every deletion', () => {
    const { pass, admit, changes, logger } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(8), 5);
    assert.match(admit('other') ?? '', /More than 5 objects of Model.*ingester resume Model/);
    assert.deepEqual(changes.slice(0, 1), ['Model open']);
    assert.ok(logger.lines.some(({ level }) => level === 'error'));
  });

  it('counts one object once, however often it is asked about', () => {
    const { admit } = setUp({ deletionsPerMinute: 1 });
    for (let time = 0; time < 10; time += 1) assert.equal(admit('same'), undefined);
  });

  it('counts no deletion that did not happen', () => {
    const { breaker, admit, pass } = setUp({ deletionsPerMinute: 2 });
    for (let attempt = 0; attempt < 10; attempt += 1) {
      assert.equal(admit(`failed${attempt}`), undefined);
      breaker.takeBack(`failed${attempt}`);
    }
    assert.equal(pass(5), 2);
  });

  it('holds the namespace that most deletions come from, and lets the others go on', () => {
    const { pass, admit, changes } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(2, 'b', 'theirs'), 2);
    assert.equal(pass(10, 'a', 'of-one-user'), 3);
    assert.match(admit('a', 'of-one-user') ?? '', /More than 5 objects.*in the namespace of-one-user/);
    assert.equal(pass(2, 'c', 'theirs'), 2, 'what the other namespace does is counted on');
    assert.deepEqual(new Set(changes), new Set(['Model open']));
  });

  it('lets the one pass that exceeds the limit where most deletions come from another namespace', () => {
    const { pass, admit } = setUp({ deletionsPerMinute: 5 });
    assert.equal(pass(5, 'a', 'of-one-user'), 5);
    assert.equal(admit('b', 'theirs'), undefined);
    assert.notEqual(admit('a9', 'of-one-user'), undefined);
  });

  it('holds the whole kind where the deletions come from everywhere', () => {
    const { admit } = setUp({ deletionsPerMinute: 4 });
    const held = ['a', 'b', 'c', 'd', 'e', 'f'].map((namespace) => admit(`u-${namespace}`, namespace));
    assert.deepEqual(
      held.map((why) => why !== undefined),
      [false, false, false, false, true, true],
    );
    assert.notEqual(admit('x', 'quiet'), undefined);
  });

  it('keeps and resumes a namespace that is held over restarts, with its kind', async () => {
    const first = setUp({ deletionsPerMinute: 2 });
    first.pass(3, 'u', 'busy');
    await settle();
    const second = setUp({ deletionsPerMinute: 2 }, 1000, first.client);
    await second.state.refresh();
    const open = openBreakers(dataOf(await first.client.get(ref)));
    assert.deepEqual(
      open.map(({ kind, namespace }) => [kind, namespace]),
      [['Model', 'busy']],
    );
    assert.notEqual(second.admit('x', 'busy'), undefined);
    assert.equal(second.admit('x', 'quiet'), undefined);
    await first.client.mergePatch(ref, { data: resumption(open, ['Model'], new Date(Date.UTC(2026, 0, 1, 1))) });
    await second.state.refresh();
    assert.equal(second.pass(10, 'later', 'busy'), 10);
  });

  it('is not closed by an answer that was on its way while it opened', async () => {
    const { client, state, pass, admit, changes } = setUp({ deletionsPerMinute: 1 });
    const slow = Promise.withResolvers<undefined>();
    const get = client.get.bind(client);
    client.get = async (asked) => {
      const before = await get(asked);
      client.get = get;
      await slow.promise;
      return before;
    };
    const refreshing = state.refresh();
    await settle();
    pass(2);
    await settle();
    slow.resolve(undefined);
    await refreshing;
    assert.notEqual(admit('y'), undefined);
    await settle();
    assert.notEqual(admit('z'), undefined);
    assert.ok(!changes.includes('Model closed'));
  });

  it('does not open again right after an operator resumed the kind', async () => {
    const { client, state, pass, admit } = setUp({ deletionsPerMinute: 1 });
    await state.refresh();
    await client.mergePatch(ref, { data: resumption([], ['Model'], new Date(Date.UTC(2026, 0, 1, 1))) });
    assert.equal(pass(2), 1, 'it is not known here yet');
    await settle();
    assert.equal(admit('y'), undefined);
    assert.equal(pass(10, 'more'), 10);
  });

  it('opens at a share of all objects, but not for a handful', () => {
    assert.equal(setUp({ deletionsPercent: 20 }, 100).pass(30), 20);
    assert.equal(setUp({ deletionsPercent: 20 }, 10).pass(9), 9);
  });

  it('stays open after a restart, until an operator resumes', async () => {
    const first = setUp({ deletionsPerMinute: 2 });
    first.pass(3);
    await settle();
    const second = setUp({ deletionsPerMinute: 2 }, 1000, first.client);
    await second.state.refresh();
    assert.notEqual(second.admit('x'), undefined);
    await first.client.mergePatch(ref, {
      data: resumption(openBreakers(dataOf(await first.client.get(ref))), ['Model'], new Date(Date.UTC(2026, 0, 1, 1))),
    });
    await second.state.refresh();
    assert.equal(second.pass(10), 10, 'nothing is counted as too many while it is allowed');
    assert.ok(second.changes.includes('Model closed'));
    await second.clock.advance(3_600_000);
    assert.equal(second.pass(10, 'later'), 2);
  });

  it('stays open in memory while the ConfigMap cannot be written, and is written later', async () => {
    const { pass, client, state, admit } = setUp({ deletionsPerMinute: 1 });
    const working = client.mergePatch.bind(client);
    client.mergePatch = () => Promise.reject(new TypeError('down'));
    pass(2);
    await settle();
    assert.notEqual(admit('y'), undefined);
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
