import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { done } from '../../../src/runtime/reconcile.ts';
import { PositionTracker } from '../../../src/sync/startup/position.ts';

const at = new Date('2026-01-01T00:00:00Z');
const version = (resourceVersion: string) => ({ resourceVersion, at });

describe('the position up to which everything is stored', () => {
  it('is the last version that the watch has delivered, where no work is left', () => {
    assert.deepEqual(new PositionTracker().sample(version('10'), new Set()), version('10'));
  });

  it('is recorded once', () => {
    const tracker = new PositionTracker();
    tracker.sample(version('10'), new Set());
    assert.equal(tracker.sample(version('10'), new Set()), undefined);
    assert.deepEqual(tracker.sample(version('11'), new Set()), version('11'));
  });

  it('is recorded again where it could not be written', () => {
    const tracker = new PositionTracker();
    tracker.sample(version('10'), new Set());
    tracker.repeat();
    assert.deepEqual(tracker.sample(version('10'), new Set()), version('10'));
  });

  it('waits for every key that was unfinished, and for no later one', () => {
    const tracker = new PositionTracker();
    assert.equal(tracker.sample(version('10'), new Set(['a', 'b'])), undefined);
    assert.equal(tracker.sample(version('11'), new Set(['b', 'c'])), undefined);
    assert.deepEqual(tracker.sample(version('12'), new Set(['c'])), version('10'));
  });

  it('is not held back by a key that changes all the time', async () => {
    const tracker = new PositionTracker();
    assert.equal(tracker.sample(version('10'), new Set(['hot'])), undefined);
    await tracker.around('hot', () => Promise.resolve(done));
    assert.deepEqual(tracker.sample(version('11'), new Set(['hot'])), version('10'));
  });

  it('is held back by a run that began before the version was delivered', async () => {
    const tracker = new PositionTracker();
    const running = Promise.withResolvers<typeof done>();
    const run = tracker.around('hot', () => running.promise);
    assert.equal(tracker.sample(version('10'), new Set(['hot'])), undefined);
    running.resolve(done);
    await run;
    assert.equal(tracker.sample(version('11'), new Set(['hot'])), undefined);
  });

  it('is held back by a key that fails', async () => {
    const tracker = new PositionTracker();
    tracker.sample(version('10'), new Set(['bad']));
    await assert.rejects(tracker.around('bad', () => Promise.reject(new TypeError('no'))));
    assert.equal(tracker.sample(version('11'), new Set(['bad'])), undefined);
  });
});
