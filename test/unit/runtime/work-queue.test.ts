// The scenarios of client-go's workqueue tests, under their names.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { CountingQueueMetrics } from './counting-queue-metrics.ts';

describe('WorkQueue', () => {
  it('TestBasic: many producers and workers, each key is handed out, none to two workers at once', async () => {
    const queue = new WorkQueue(new FakeClock());
    const held = new Set<string>();
    const seen = new Set<string>();
    const work = async (): Promise<void> => {
      for (let key = (await queue.get())?.key; key !== undefined; key = (await queue.get())?.key) {
        assert.ok(!held.has(key));
        held.add(key);
        await settle();
        seen.add(key);
        held.delete(key);
        queue.done(key);
      }
    };
    const workers = [work(), work(), work()];
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 20; index += 1) queue.add(`key-${index}`);
      await settle();
    }
    while (queue.length > 0 || held.size > 0) await settle();
    queue.shutDown();
    await Promise.all(workers);
    assert.equal(seen.size, 20);
  });

  it('hands out keys in the order they were added', async () => {
    const queue = new WorkQueue(new FakeClock());
    for (const key of ['b', 'a', 'c']) queue.add(key);
    assert.deepEqual([(await queue.get())?.key, (await queue.get())?.key, (await queue.get())?.key], ['b', 'a', 'c']);
  });

  it('TestAddWhileProcessing: a key added while a worker holds it comes again when the worker is done', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.done('a');
    assert.equal((await queue.get())?.key, 'a');
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  it('TestLen: counts each ready key once', () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    assert.equal(queue.length, 1);
    queue.add('b');
    assert.equal(queue.length, 2);
    queue.add('a');
    assert.equal(queue.length, 2);
  });

  it('TestReinsert: a key can be added again once it is done', async () => {
    const queue = new WorkQueue(new FakeClock());
    for (let round = 0; round < 2; round += 1) {
      queue.add('a');
      assert.equal((await queue.get())?.key, 'a');
      queue.done('a');
    }
    assert.equal(queue.length, 0);
  });

  it('TestCollapse: a key added several times is handed out once', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    queue.add('a');
    await queue.get();
    assert.equal(queue.length, 0);
  });

  it('TestCollapseWhileProcessing: any number of adds during a run give one run more', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    queue.done('a');
    assert.equal((await queue.get())?.key, 'a');
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  it('TestNoQueueDrainageUsingShutDown: does not wait for held keys', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    await queue.get();
    queue.shutDown();
    assert.equal((await queue.get())?.key, undefined);
  });

  it('TestGarbageCollection: keeps nothing of a key that is done', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('a', { afterMs: 5 });
    await clock.advance(5);
    await queue.get();
    queue.done('a');
    assert.equal(queue.length, 0);
    assert.equal(clock.pending, 0);
  });

  it('TestSimpleQueue: a delayed key is ready when its time has come', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('a', { afterMs: 100 });
    await clock.advance(99);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('TestDeduping: of several delays the earliest counts, once', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('a', { afterMs: 100 });
    queue.add('a', { afterMs: 10 });
    queue.add('a', { afterMs: 1000 });
    await clock.advance(10);
    assert.equal(queue.length, 1);
    assert.equal(clock.pending, 0);
    queue.done((await queue.get())?.key ?? '');
    await clock.advance(2000);
    assert.equal(queue.length, 0);
  });

  it('TestAddTwoFireEarly: the later of two keys does not hold up the earlier', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('late', { afterMs: 1000 });
    queue.add('early', { afterMs: 50 });
    await clock.advance(60);
    assert.equal((await queue.get())?.key, 'early');
    await clock.advance(1000);
    assert.equal((await queue.get())?.key, 'late');
  });

  it('TestCopyShifting: keys come in the order of their times, whatever the order of adding', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    const delays = [1000, 500, 700, 300, 900, 100];
    for (const delay of delays) queue.add(`after ${delay}`, { afterMs: delay });
    assert.equal(clock.pending, 1, 'one timer serves all waiting keys');
    await clock.advance(2000);
    const order: (string | undefined)[] = [];
    while (queue.length > 0) order.push((await queue.get())?.key);
    assert.deepEqual(
      order,
      delays.sort((left, right) => left - right).map((delay) => `after ${delay}`),
    );
  });

  it('hands a key to a worker that was already waiting', async () => {
    const queue = new WorkQueue(new FakeClock());
    const waiting = queue.get();
    queue.add('a');
    assert.equal((await waiting)?.key, 'a');
  });

  it('keeps a key that falls due while a worker holds it', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('a');
    await queue.get();
    queue.add('a', { afterMs: 10 });
    await clock.advance(10);
    queue.done('a');
    assert.equal((await queue.get())?.key, 'a');
  });

  it('ignores a key that is given back without having been taken', () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    queue.done('a');
    assert.equal(queue.length, 1);
  });

  it('releases waiting workers and leaves no timer when it shuts down', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    const waiting = [queue.get(), queue.get()];
    queue.add('a', { afterMs: 10 });
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
    assert.equal(clock.pending, 0);
    queue.add('b');
    queue.add('c', { afterMs: 10 });
    assert.equal(clock.pending, 0);
    assert.equal((await queue.get())?.key, undefined);
  });

  it('TestMetrics: counts additions without repeats, depth, waiting and working time, and retries', async () => {
    const clock = new FakeClock();
    const metrics = new CountingQueueMetrics();
    const queue = new WorkQueue(clock, { metrics });
    queue.add('a');
    queue.add('a');
    await clock.advance(2000);
    await queue.get();
    await clock.advance(500);
    assert.deepEqual([...metrics.held()], [0.5]);
    queue.done('a');
    queue.add('a', { afterMs: 10 });
    queue.add('a', { afterMs: 0 });
    assert.equal(metrics.adds, 2);
    assert.equal(metrics.retries, 1);
    assert.deepEqual(metrics.waited, [2]);
    assert.deepEqual(metrics.worked, [0.5]);
    assert.deepEqual([...metrics.held()], []);
    assert.equal(metrics.depth.get(0), 1);
  });

  it('TestMetricShutdown: nothing is left in the depth after a shut-down', () => {
    const metrics = new CountingQueueMetrics();
    const queue = new WorkQueue(new FakeClock(), { metrics });
    queue.add('a');
    queue.add('b', { afterMs: 10 });
    queue.shutDown();
    assert.equal(metrics.depth.get(0), 0);
  });
});
