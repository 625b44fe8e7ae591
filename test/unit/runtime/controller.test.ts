// The scenarios of controller-runtime's controller tests, under their names, and those of this product's retry policy.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { Controller } from '../../../src/runtime/controller.ts';
import { TerminalError } from '../../../src/runtime/errors.ts';
import { done, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { sourceFunc } from '../../../src/runtime/source.ts';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import { RowRefusedError } from '../../../src/storage/errors.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { ContextLogger } from './context-logger.ts';
import { scripted, start, unavailable } from './controller-fixture.ts';
import { CountingControllerMetrics } from './counting-controller-metrics.ts';

describe('Controller', () => {
  it('reconciles each key it is given', async () => {
    const { reconcile, runs } = scripted();
    const { controller, clock, end } = start(reconcile);
    controller.enqueue('a');
    controller.enqueue('b');
    await clock.advance(0);
    assert.deepEqual(
      runs.map(({ key }) => key),
      ['a', 'b'],
    );
    await end();
  });

  it('reconciles as many keys at once as it has workers, and one key never twice at once', async () => {
    const running = new Set<string>();
    let most = 0;
    const { controller, clock, end } = start(
      async (key) => {
        assert.ok(!running.has(key));
        running.add(key);
        most = Math.max(most, running.size);
        await new Promise<void>((resolve) => clock.schedule(10, resolve));
        running.delete(key);
        return done;
      },
      { maxConcurrentReconciles: 3 },
    );
    for (const key of ['a', 'b', 'c', 'd', 'a', 'b']) controller.enqueue(key);
    await clock.advance(5);
    controller.enqueue('a');
    await clock.advance(100);
    assert.equal(most, 3);
    await end();
  });

  it('yields to timers and the network while reconciles wait for nothing', async () => {
    const stop = new AbortController();
    const all = Promise.withResolvers<undefined>();
    let handled = 0;
    const reconcile = (): Promise<ReconcileResult> => {
      for (const began = performance.now(); performance.now() - began < 1; );
      handled += 1;
      if (handled === 100) all.resolve(undefined);
      return Promise.resolve(done);
    };
    const controller = new Controller({ name: 'test', reconcile, clock: systemClock, logger: new ContextLogger() });
    for (let index = 0; index < 100; index += 1) controller.enqueue(`key-${index}`);
    const finished = controller.run(stop.signal);
    let handledBefore = 0;
    setImmediate(() => setImmediate(() => (handledBefore = handled)));
    await all.promise;
    stop.abort();
    await finished;
    assert.ok(handledBefore > 0 && handledBefore < 100, `${handledBefore} were handled before`);
  });

  it('has twenty workers unless told otherwise', async () => {
    let running = 0;
    const clock = new FakeClock();
    const metrics = new CountingControllerMetrics();
    const stop = new AbortController();
    const hang = Promise.withResolvers<ReconcileResult>();
    const reconcile = (): Promise<ReconcileResult> => ((running += 1), hang.promise);
    const controller = new Controller({ name: 'test', reconcile, clock, logger: new ContextLogger(), metrics });
    const finished = controller.run(stop.signal);
    for (let index = 0; index < 30; index += 1) controller.enqueue(`key-${index}`);
    await settle();
    assert.deepEqual([running, metrics.active, metrics.workers], [20, 20, 20]);
    stop.abort();
    hang.resolve(done);
    await finished;
  });

  it('has one worker more than it ever had work for at once, at most', async (t) => {
    const asked = t.mock.method(WorkQueue.prototype, 'get');
    const { controller, end } = start(() => Promise.resolve(done), { maxConcurrentReconciles: 20 });
    await settle();
    const waiting = (): number => asked.mock.callCount() - worked;
    let worked = 0;
    assert.equal(waiting(), 1);
    for (const key of ['a', 'b', 'c', 'd']) {
      controller.enqueue(key);
      await settle();
      worked += 1;
      assert.equal(waiting(), 2);
    }
    await end();
  });

  it('gives each run an id of its own, in its context and in every line it logs', async () => {
    const ids: string[] = [];
    const { controller, clock, logger, end } = start((_key, context) => {
      context.logger.info({}, 'working');
      ids.push(context.reconcileId);
      return ids.length === 1 ? Promise.reject(unavailable) : Promise.resolve(done);
    });
    controller.enqueue('a');
    await clock.advance(250);
    assert.match(ids[0] ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.notEqual(ids[0], ids[1]);
    const lines = logger.lines.map(({ message, key, reconcileId }) => [message, key, reconcileId]);
    assert.deepEqual(lines, [
      ['working', 'a', ids[0]],
      ['Reconcile failed; trying again', 'a', ids[0]],
      ['working', 'a', ids[1]],
      ['Reconciled after failures', 'a', ids[1]],
    ]);
    await end();
  });

  it('tells a reconcile to end when it stops, and finishes its key first', async () => {
    const finished: boolean[] = [];
    const { controller, clock, stop, end } = start(async (_key, { signal }) => {
      await new Promise<void>((resolve) => clock.schedule(50, resolve));
      finished.push(signal.aborted);
      return done;
    });
    controller.enqueue('a');
    await clock.advance(0);
    stop.abort();
    await clock.advance(50);
    await end();
    assert.deepEqual(finished, [true]);
  });

  it('ends before doing anything more when it may not work any more', async () => {
    let leader = true;
    const { reconcile, runs } = scripted();
    const { controller, clock, finished } = start(reconcile, { mayWork: () => leader });
    controller.enqueue('a');
    await clock.advance(0);
    leader = false;
    controller.enqueue('b');
    await finished;
    assert.equal(runs.length, 1);
  });

  it('should not leak goroutines when stopped: no timer and no listener is left', async () => {
    const { controller, clock, stop, end } = start(() => Promise.reject(unavailable), { reconcileTimeoutMs: 1000 });
    let listeners = 0;
    const addEventListener = stop.signal.addEventListener.bind(stop.signal);
    stop.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener(...args);
    };
    controller.enqueue('a');
    await clock.advance(10_000);
    assert.equal(listeners, 0, 'a reconcile left a listener on the long-lived signal');
    await end();
  });
});

describe('Controller, after a reconcile', () => {
  it('should requeue a Request if there is an error and continue', async () => {
    const { reconcile, runs } = scripted(unavailable);
    const { controller, clock, metrics, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(250);
    assert.equal(runs.length, 2);
    assert.deepEqual(metrics.results, { success: 1, requeue_after: 0, error: 1 });
    await end();
  });

  it('should not requeue if there is a terminal error', async () => {
    const { reconcile, runs } = scripted(unavailable, new TerminalError(unavailable));
    const { controller, clock, logger, metrics, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(100_000);
    assert.equal(runs.length, 2);
    assert.equal(metrics.terminal, 1);
    assert.equal(metrics.results.error, 2);
    assert.equal(controller.failing, 0);
    assert.deepEqual(logger.shown().at(-1), ['error', 'Reconcile failed for good']);
    await end();
  });

  it('should not reset backoff until there is a non-error result: a terminal error does not', async () => {
    const { reconcile, runs } = scripted(unavailable, new TerminalError(unavailable), unavailable);
    const { controller, clock, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(250);
    controller.enqueue('a');
    await clock.advance(499);
    assert.equal(runs.length, 3);
    await clock.advance(1);
    assert.equal(runs.length, 4, 'the wait is that of a second failure');
    await end();
  });

  it('a success resets the backoff', async () => {
    const { reconcile, runs } = scripted(unavailable, unavailable, done, unavailable);
    const { controller, clock, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(750);
    assert.equal(runs.length, 3);
    controller.enqueue('a');
    await clock.advance(250);
    assert.equal(runs.length, 5);
    await end();
  });

  it('should requeue after a duration (but not rate-limited) if RequeueAfter is set', async () => {
    const again: ReconcileResult = { kind: 'requeue-after', delayMs: 1000 };
    const { reconcile, runs } = scripted(unavailable, again, again, unavailable);
    const { controller, clock, metrics, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(250);
    await clock.advance(1000);
    await clock.advance(1000);
    assert.equal(runs.length, 4);
    assert.equal(metrics.results.requeue_after, 2);
    await clock.advance(250);
    assert.equal(runs.length, 5, 'and its failures are forgotten');
    await end();
  });

  it('an event cancels the wait of a requeue', async () => {
    const { reconcile, runs } = scripted({ kind: 'requeue-after', delayMs: 1000 });
    const { controller, clock, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(10);
    controller.enqueue('a');
    await clock.advance(5000);
    assert.equal(runs.length, 2);
    await end();
  });

  for (const [title, first, expected] of [
    ['should retain the priority after an error', unavailable, -7],
    ['should retain the priority after a RequeueAfter', { kind: 'requeue-after', delayMs: 10 }, -7],
    ['should override the priority if Result has it', { kind: 'requeue-after', delayMs: 10, priority: -3 }, -3],
  ] as const) {
    it(title, async () => {
      const { reconcile } = scripted(first);
      const source = sourceFunc('test', ({ queue }) => queue.add('a', { priority: -7 }));
      const { clock, metrics, end } = start(reconcile, { sources: [source] });
      await clock.advance(0);
      metrics.queue.depth.clear();
      await clock.advance(250);
      assert.deepEqual([...metrics.queue.depth.keys()], [expected]);
      await end();
    });
  }

  it('tries a failed key again, ever more slowly, but never later than the requeue period', async () => {
    const tries: number[] = [];
    const { controller, clock, end } = start(() => {
      tries.push(clock.monotonicMs());
      return Promise.reject(unavailable);
    });
    controller.enqueue('a');
    await clock.advance(10_000);
    const gaps = tries.slice(1).map((time, index) => time - (tries[index] ?? 0));
    assert.deepEqual(gaps.slice(0, 6), [250, 500, 1000, 2000, 2000, 2000]);
    await end();
  });

  it('waits a whole requeue period after an error that repeating cannot cure, and still repeats', async () => {
    const { reconcile, runs } = scripted(new RowRefusedError('too long'));
    const { controller, clock, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(1999);
    assert.equal(runs.length, 1);
    await clock.advance(1);
    assert.equal(runs.length, 2);
    await end();
  });

  it('tries every failed key at once when told that the cause is gone, after keys with fresh events', async () => {
    let down = true;
    const succeeded: string[] = [];
    const { controller, clock, end } = start((key) => {
      if (down) return Promise.reject(unavailable);
      succeeded.push(key);
      return Promise.resolve(done);
    });
    controller.enqueue('a');
    controller.enqueue('b');
    await clock.advance(3000);
    assert.equal(controller.failing, 2);
    down = false;
    controller.retryFailed();
    await clock.advance(0);
    assert.deepEqual(succeeded.sort(), ['a', 'b']);
    assert.equal(controller.failing, 0);
    await end();
  });

  it('logs the first failure of a key, another reason, and the recovery, not every repeat', async () => {
    const { reconcile } = scripted(unavailable, unavailable, new RangeError('other'), unavailable);
    const { controller, clock, logger, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(60_000);
    const shown = logger.lines.filter(({ level }) => level !== 'debug');
    assert.deepEqual(
      shown.map(({ message, failures, after }) => [message, failures, after]),
      [
        ['Reconcile failed; trying again', undefined, undefined],
        ['Reconcile failed; trying again', undefined, undefined],
        ['Reconcile failed; trying again', undefined, undefined],
        ['Reconciled after failures', 4, unavailable.code],
      ],
    );
    await end();
  });
});
