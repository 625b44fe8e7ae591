import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Controller, done, type ReconcileResult } from '../../../src/runtime/controller.ts';
import { RowRefusedError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

function setUp(reconcile: (key: string) => Promise<ReconcileResult>, workers = 1) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const stop = new AbortController();
  const controller = new Controller({ name: 'test', workers, requeuePeriodMs: 2000, reconcile, clock, logger });
  const finished = controller.run(stop.signal);
  return { clock, logger, controller, stop: () => (stop.abort(), finished) };
}

const unavailable = new StorageUnavailableError('ECONNREFUSED', undefined);

describe('Controller', () => {
  it('reconciles each key it is given', async () => {
    const seen: string[] = [];
    const { controller, clock, stop } = setUp((key) => (seen.push(key), Promise.resolve(done)));
    controller.enqueue('a');
    controller.enqueue('b');
    await clock.advance(0);
    assert.deepEqual(seen, ['a', 'b']);
    await stop();
  });

  it('reconciles as many keys at once as it has workers, and one key never twice at once', async () => {
    const running = new Set<string>();
    let most = 0;
    const { controller, clock, stop } = setUp(async (key) => {
      assert.ok(!running.has(key));
      running.add(key);
      most = Math.max(most, running.size);
      await new Promise<void>((resolve) => clock.schedule(10, resolve));
      running.delete(key);
      return done;
    }, 3);
    for (const key of ['a', 'b', 'c', 'd', 'a', 'b']) controller.enqueue(key);
    await clock.advance(5);
    controller.enqueue('a');
    await clock.advance(100);
    assert.equal(most, 3);
    await stop();
  });

  it('tries a failed key again, ever more slowly, but never later than the requeue period', async () => {
    const tries: number[] = [];
    const { controller, clock, stop } = setUp(() => {
      tries.push(clock.monotonicMs());
      return Promise.reject(unavailable);
    });
    controller.enqueue('a');
    await clock.advance(10_000);
    const gaps = tries.slice(1).map((time, index) => time - (tries[index] ?? 0));
    assert.deepEqual(gaps.slice(0, 6), [250, 500, 1000, 2000, 2000, 2000]);
    await stop();
  });

  it('waits a whole requeue period after an error that repeating cannot cure, and still repeats', async () => {
    let tries = 0;
    const { controller, clock, stop } = setUp(() => (tries++, Promise.reject(new RowRefusedError('too long'))));
    controller.enqueue('a');
    await clock.advance(1999);
    assert.equal(tries, 1);
    await clock.advance(1);
    assert.equal(tries, 2);
    await stop();
  });

  it('tries every failed key at once when told that the cause is gone', async () => {
    let down = true;
    const succeeded: string[] = [];
    const { controller, clock, stop } = setUp((key) => {
      if (down) return Promise.reject(unavailable);
      succeeded.push(key);
      return Promise.resolve(done);
    });
    controller.enqueue('a');
    controller.enqueue('b');
    await clock.advance(3000);
    down = false;
    controller.retryFailed();
    await clock.advance(0);
    assert.deepEqual(succeeded.sort(), ['a', 'b']);
    assert.equal(controller.failing, 0);
    await stop();
  });

  it('reconciles a key again after the delay it asked for', async () => {
    let runs = 0;
    const { controller, clock, stop } = setUp(() => {
      runs += 1;
      return Promise.resolve(runs === 1 ? { kind: 'requeue-after', delayMs: 1000 } : done);
    });
    controller.enqueue('a');
    await clock.advance(5000);
    assert.equal(runs, 2);
    await stop();
  });

  it('logs the first failure of a key and its recovery, not every repeat', async () => {
    let failures = 4;
    const { controller, clock, logger, stop } = setUp(() =>
      failures-- > 0 ? Promise.reject(unavailable) : Promise.resolve(done),
    );
    controller.enqueue('a');
    await clock.advance(60_000);
    const shown = logger.lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => [level, message]);
    assert.deepEqual(shown, [
      ['warn', 'Reconcile failed; trying again'],
      ['info', 'Reconciled after failures'],
    ]);
    await stop();
  });

  it('finishes the key it holds before it stops', async () => {
    let finished = false;
    const { controller, clock, stop } = setUp(async () => {
      await new Promise<void>((resolve) => clock.schedule(50, resolve));
      finished = true;
      return done;
    });
    controller.enqueue('a');
    await clock.advance(0);
    const stopped = stop();
    await clock.advance(50);
    await stopped;
    assert.ok(finished);
  });
});
