import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

describe('WorkQueue', () => {
  it('hands out keys in the order they were added', async () => {
    const queue = new WorkQueue(new FakeClock());
    for (const key of ['b', 'a', 'c']) queue.add(key);
    assert.deepEqual([await queue.get(), await queue.get(), await queue.get()], ['b', 'a', 'c']);
  });

  it('hands out a key that was added several times once', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    queue.add('a');
    await queue.get();
    assert.equal(queue.length, 0);
  });

  it('does not hand out a key that a worker holds, and does again when that worker is done', async () => {
    const queue = new WorkQueue(new FakeClock());
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    assert.equal(queue.length, 0);
    queue.done('a');
    assert.equal(queue.length, 1);
    assert.equal(await queue.get(), 'a');
  });

  it('hands a key to a worker that was already waiting', async () => {
    const queue = new WorkQueue(new FakeClock());
    const waiting = queue.get();
    queue.add('a');
    assert.equal(await waiting, 'a');
    queue.add('a');
    assert.equal(queue.length, 0);
  });

  it('makes a delayed key ready when its time has come', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.addAfter('a', 100);
    await clock.advance(99);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('keeps the earliest of several delays', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.addAfter('a', 100);
    queue.addAfter('a', 10);
    queue.addAfter('a', 1000);
    await clock.advance(10);
    assert.equal(queue.length, 1);
    assert.equal(clock.pending, 0);
  });

  it('drops the delay of a key that is added now', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.addAfter('a', 100);
    queue.add('a');
    await queue.get();
    queue.done('a');
    await clock.advance(1000);
    assert.equal(queue.length, 0);
  });

  it('keeps a key that becomes due while a worker holds it', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    queue.add('a');
    await queue.get();
    queue.addAfter('a', 10);
    await clock.advance(10);
    queue.done('a');
    assert.equal(await queue.get(), 'a');
  });

  it('releases waiting workers and leaves no timer when it shuts down', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue(clock);
    const waiting = [queue.get(), queue.get()];
    queue.addAfter('a', 10);
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
    assert.equal(clock.pending, 0);
    queue.add('b');
    await settle();
    assert.equal(await queue.get(), undefined);
  });
});
