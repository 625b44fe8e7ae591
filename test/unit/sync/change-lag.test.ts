import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WatchedObject } from '../../../src/kube/watched-object.ts';
import { done, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { ChangeLag } from '../../../src/sync/change-lag.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = new FakeClock();
  const stored: number[] = [];
  const lag = new ChangeLag({ clock, onStored: (seconds) => stored.push(seconds) });
  const object = (key: string): WatchedObject => ({ key }) as unknown as WatchedObject;
  const changed = (key: string): boolean => lag.noted.update({ before: object(key), after: object(key) });
  const listed = (key: string): boolean => lag.noted.create({ object: object(key), initial: true });
  const store = (key: string) => lag.around(key, () => Promise.resolve(done));
  /** Ends the run that it begins. */
  const begin = (key: string): (() => Promise<unknown>) => {
    const committed = Promise.withResolvers<ReconcileResult>();
    const run = lag.around(key, () => committed.promise);
    return () => {
      committed.resolve(done);
      return run;
    };
  };
  const fail = (key: string) => assert.rejects(lag.around(key, () => Promise.reject(new RangeError('away'))));
  return { clock, lag, stored, changed, listed, store, begin, fail };
}

describe('the lag of changes', () => {
  it('is the time from the event of a change to the end of the run that stores it', async () => {
    const { clock, lag, stored, changed, begin } = setUp();
    assert.equal(changed('a'), true);
    await clock.advance(2000);
    assert.deepEqual([lag.changes, lag.oldestSeconds], [1, 2]);
    const end = begin('a');
    await clock.advance(500);
    await end();
    assert.deepEqual([stored, lag.changes, lag.oldestSeconds], [[2.5], 0, 0]);
  });

  it('begins with the first of several changes, and with the one that comes while another is stored', async () => {
    const { clock, lag, stored, changed, store, begin } = setUp();
    changed('a');
    await clock.advance(1000);
    changed('a');
    const end = begin('a');
    changed('a');
    await clock.advance(1000);
    await end();
    assert.deepEqual([stored, lag.changes, lag.oldestSeconds], [[2], 1, 1]);
    await store('a');
    assert.deepEqual(stored, [2, 1]);
  });

  it('goes on through failures', async () => {
    const { clock, lag, stored, changed, fail, store } = setUp();
    changed('a');
    await clock.advance(1000);
    await fail('a');
    assert.equal(lag.oldestSeconds, 1);
    await clock.advance(60_000);
    await store('a');
    assert.deepEqual(stored, [61]);
  });

  it('counts a change while it is being stored', async () => {
    const { clock, lag, changed, begin } = setUp();
    changed('a');
    const end = begin('a');
    await clock.advance(3000);
    assert.deepEqual([lag.changes, lag.oldestSeconds], [1, 3]);
    await end();
    assert.equal(lag.changes, 0);
  });

  it('takes no object of a first list for a change, and knows that it is not stored', async () => {
    const { clock, lag, stored, listed, store, fail } = setUp();
    listed('a');
    await clock.advance(5000);
    assert.deepEqual([lag.changes, lag.oldestSeconds], [1, 5]);
    await fail('a');
    assert.equal(lag.oldestSeconds, 5);
    await store('a');
    assert.deepEqual([lag.changes, stored], [0, []]);
  });

  it('runs what no change asked for without measuring it', async () => {
    const { stored, store } = setUp();
    await store('again');
    assert.deepEqual(stored, []);
  });
});
