// The scenarios of controller-runtime's priority queue tests, under their names, and those of aging.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LOW_PRIORITY, type Taken, WorkQueue } from '../../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { CountingQueueMetrics } from './counting-queue-metrics.ts';

function setUp() {
  const clock = new FakeClock();
  const metrics = new CountingQueueMetrics();
  return { clock, metrics, queue: new WorkQueue(clock, { metrics }) };
}

/** Hands out and gives back everything that is ready. */
async function drain(queue: WorkQueue): Promise<readonly string[]> {
  const taken: string[] = [];
  while (queue.length > 0) {
    const key = (await queue.get())?.key ?? '';
    queue.done(key);
    taken.push(key);
  }
  return taken;
}

async function take(queue: WorkQueue): Promise<Taken | undefined> {
  const taken = await queue.get();
  if (taken !== undefined) queue.done(taken.key);
  return taken;
}

describe('WorkQueue with priorities', () => {
  it('returns items in order', async () => {
    const { queue } = setUp();
    queue.add('foo');
    queue.add('bar');
    queue.add('urgent', { priority: 1 });
    queue.add('low', { priority: LOW_PRIORITY });
    assert.deepEqual(await drain(queue), ['urgent', 'foo', 'bar', 'low']);
  });

  it("doesn't return an item that is currently locked", async () => {
    const { queue, metrics } = setUp();
    queue.add('foo');
    assert.equal((await queue.get())?.key, 'foo');
    queue.add('foo');
    queue.add('bar');
    queue.add('baz');
    assert.equal(queue.length, 3);
    assert.equal(metrics.depth.get(0), 3);
    assert.equal((await queue.get())?.key, 'bar');
    assert.equal(queue.length, 2);
  });

  it('returns an item as soon as its unlocked', async () => {
    const { queue } = setUp();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    let got: string | undefined;
    void queue.get().then((taken) => (got = taken?.key));
    await settle();
    assert.equal(got, undefined);
    queue.done('foo');
    await settle();
    assert.equal(got, 'foo');
  });

  it('returns an unlocked item at its place in the line, not at its back', async () => {
    const { queue } = setUp();
    queue.add('foo');
    await queue.get();
    for (const key of ['foo', 'bar', 'baz']) queue.add(key);
    queue.done('foo');
    assert.deepEqual(await drain(queue), ['foo', 'bar', 'baz']);
  });

  it('de-duplicates items', async () => {
    const { queue, metrics } = setUp();
    queue.add('foo');
    queue.add('foo');
    assert.equal(queue.length, 1);
    assert.equal(metrics.adds, 1);
    assert.deepEqual(await drain(queue), ['foo']);
  });

  it('enqueues a locked item', async () => {
    const { queue } = setUp();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    assert.equal(queue.length, 1);
  });

  it('retains the highest priority', async () => {
    const { queue, metrics } = setUp();
    queue.add('foo', { priority: 1 });
    queue.add('foo', { priority: 2 });
    assert.equal(metrics.depth.get(1), 0);
    assert.equal(metrics.depth.get(2), 1);
    assert.deepEqual(await take(queue), { key: 'foo', priority: 2 });
    assert.equal(metrics.depth.get(2), 0);
  });

  it('will not decrease the priority', async () => {
    const { queue } = setUp();
    queue.add('foo', { priority: 2 });
    queue.add('foo', { priority: 1 });
    assert.deepEqual(await take(queue), { key: 'foo', priority: 2 });
  });

  it('gets pushed to the front if the priority increases', async () => {
    const { queue } = setUp();
    for (const key of ['foo', 'bar', 'baz']) queue.add(key);
    queue.add('baz', { priority: 1 });
    assert.deepEqual(await drain(queue), ['baz', 'foo', 'bar']);
  });

  it('retains the lowest after duration', async () => {
    const { clock, queue } = setUp();
    queue.add('foo', { afterMs: 100 });
    queue.add('foo', { afterMs: 50 });
    queue.add('foo', { afterMs: 200 });
    await clock.advance(50);
    assert.equal(queue.length, 1);
    assert.equal(clock.pending, 0);
  });

  it("doesn't include non-ready items in Len()", async () => {
    const { clock, queue } = setUp();
    queue.add('foo', { afterMs: 60_000 });
    queue.add('bar');
    assert.equal(queue.length, 1);
    await clock.advance(60_000);
    assert.equal(queue.length, 2);
  });

  it('follows FIFO order when item priority changes', async () => {
    const { queue } = setUp();
    queue.add('first', { priority: 5 });
    queue.add('raised');
    queue.add('second', { priority: 5 });
    queue.add('raised', { priority: 5 });
    queue.add('third', { priority: 5 });
    assert.deepEqual(await drain(queue), ['first', 'second', 'raised', 'third']);
  });

  it('raises the priority of an item that waits', async () => {
    const { clock, queue } = setUp();
    queue.add('foo', { afterMs: 10, priority: LOW_PRIORITY });
    queue.add('foo', { afterMs: 50, priority: 1 });
    await clock.advance(10);
    assert.deepEqual(await take(queue), { key: 'foo', priority: 1 });
  });

  it('follows FIFO order when the priority of an item that waits changes', async () => {
    const { clock, queue } = setUp();
    queue.add('raised', { afterMs: 10, priority: LOW_PRIORITY });
    queue.add('first', { afterMs: 10 });
    queue.add('raised', { afterMs: 20 });
    queue.add('last', { afterMs: 10 });
    await clock.advance(10);
    assert.deepEqual(await drain(queue), ['first', 'raised', 'last']);
  });

  it('TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes', async () => {
    const { queue } = setUp();
    for (let round = 0; round < 3; round += 1) {
      queue.add('low', { priority: LOW_PRIORITY });
      for (const key of ['a', 'b', 'c']) queue.add(key, { priority: 100 });
      assert.deepEqual(await drain(queue), ['a', 'b', 'c', 'low']);
    }
  });

  it('TestItemIsOnlyReturnedAfterAfterHasPassed', async () => {
    const { clock, queue } = setUp();
    let got: string | undefined;
    void queue.get().then((taken) => (got = taken?.key));
    queue.add('foo', { afterMs: 1000 });
    await clock.advance(999);
    assert.equal(got, undefined);
    await clock.advance(1);
    assert.equal(got, 'foo');
  });

  it('TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem', async () => {
    const { clock, queue } = setUp();
    queue.add('high', { afterMs: 1000, priority: 10 });
    queue.add('low');
    await clock.advance(1000);
    assert.deepEqual(await drain(queue), ['high', 'low']);
  });

  it('TestItemIsReturnedAsSoonAsPossible', async () => {
    const { clock, queue } = setUp();
    queue.add('foo', { afterMs: 1000 });
    await clock.advance(100);
    queue.add('foo', { afterMs: 100 });
    await clock.advance(99);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.deepEqual(await drain(queue), ['foo']);
  });

  it('TestWaitingItemIsReturnedRightAfterReadWithoutAfter', async () => {
    const { clock, queue } = setUp();
    queue.add('foo', { afterMs: 1000 });
    queue.add('foo');
    assert.deepEqual(await drain(queue), ['foo']);
    assert.equal(clock.pending, 0, 'an event cancels the wait');
    await clock.advance(2000);
    assert.equal(queue.length, 0);
  });

  it('a waiting item that is added without delay goes to the back of its line', async () => {
    const { queue } = setUp();
    queue.add('waited', { afterMs: 1000 });
    queue.add('foo');
    queue.add('waited');
    assert.deepEqual(await drain(queue), ['foo', 'waited']);
  });

  it('TestMultipleItemsWithAfterAreReturnedInCorrectOrder', async () => {
    const { clock, queue } = setUp();
    queue.add('third', { afterMs: 300 });
    queue.add('first', { afterMs: 100 });
    queue.add('second', { afterMs: 200 });
    await clock.advance(300);
    assert.deepEqual(await drain(queue), ['first', 'second', 'third']);
  });

  it('TestGetFromPriorityQueueIsUnblockedOnShutdown', async () => {
    const { queue } = setUp();
    const waiting = queue.get();
    queue.shutDown();
    assert.equal(await waiting, undefined);
  });

  it('drops what is queued on shutdown', async () => {
    const { queue } = setUp();
    queue.add('foo');
    queue.shutDown();
    assert.equal((await queue.get())?.key, undefined);
    assert.equal(queue.length, 0);
  });

  it('TestItemsAreInludedInLenAndMetricsOnceTheyAreReady', async () => {
    const { clock, metrics, queue } = setUp();
    queue.add('foo', { afterMs: 500 });
    assert.deepEqual([queue.length, metrics.adds, metrics.depth.get(0) ?? 0], [0, 0, 0]);
    await clock.advance(500);
    assert.deepEqual([queue.length, metrics.adds, metrics.depth.get(0)], [1, 1, 1]);
  });

  it('TestMetricsAreUpdatedForItemWhoseRequeueAfterExpiredThatGetsAddedAgainWithoutRequeueAfter', async () => {
    const { clock, metrics, queue } = setUp();
    queue.add('foo', { afterMs: 500 });
    await clock.advance(500);
    queue.add('foo');
    assert.deepEqual([queue.length, metrics.adds, metrics.depth.get(0)], [1, 1, 1]);
  });

  it('TestPriorityQueueDoesNotDeadlockOnShutdownWhileHandingOutItems', async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get(), queue.get()];
    queue.add('foo');
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [{ key: 'foo', priority: 0 }, undefined, undefined]);
    queue.done('foo');
  });
});

describe('WorkQueue with aging', () => {
  const aging = { afterMs: 1000, oneIn: 4 };

  /** One worker, and urgent work that never ends. */
  async function handOuts(queue: WorkQueue, count: number): Promise<readonly string[]> {
    const taken: string[] = [];
    for (let index = 0; index < count; index += 1) {
      queue.add(`urgent-${index}`);
      queue.add(`urgent-${index}-too`);
      const key = (await queue.get())?.key ?? '';
      queue.done(key);
      taken.push(key.replace(/-.*/, ''));
    }
    return taken;
  }

  it('never starves the initial list: what waited too long gets every fourth turn', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock, { aging });
    for (const key of ['list-1', 'list-2']) queue.add(key, { priority: LOW_PRIORITY });
    assert.deepEqual(new Set(await handOuts(queue, 8)), new Set(['urgent']), 'before it is old, it waits');
    await clock.advance(1001);
    const taken = await handOuts(queue, 8);
    assert.equal(taken.filter((key) => key === 'list').length, 2);
    assert.equal(taken.filter((key) => key === 'urgent').length, 6, 'and urgent work keeps the other turns');
  });

  it('keeps the priority of what went by age, so that its retry waits its turn again', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock, { aging: { afterMs: 1000, oneIn: 1 } });
    queue.add('old', { priority: LOW_PRIORITY });
    await clock.advance(1001);
    queue.add('new');
    assert.deepEqual(await take(queue), { key: 'old', priority: LOW_PRIORITY });
  });

  it('hands out the oldest first, also where a raise changed the lines', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock, { aging: { afterMs: 1000, oneIn: 1 } });
    queue.add('oldest', { priority: LOW_PRIORITY });
    await clock.advance(1);
    queue.add('old', { priority: -50 });
    queue.add('oldest', { priority: -50 });
    await clock.advance(1001);
    queue.add('new');
    assert.deepEqual(await drain(queue), ['oldest', 'old', 'new']);
  });

  it('passes over an old key that a worker holds', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock, { aging: { afterMs: 1000, oneIn: 1 } });
    queue.add('held');
    await queue.get();
    queue.add('held', { priority: LOW_PRIORITY });
    queue.add('old', { priority: LOW_PRIORITY });
    await clock.advance(1001);
    queue.add('new');
    assert.deepEqual([(await queue.get())?.key, (await queue.get())?.key], ['old', 'new']);
  });
});
