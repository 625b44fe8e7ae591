// What a controller does with reconciles that panic or take too long.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { TerminalError } from '../../../src/runtime/errors.ts';
import { done, type Reconcile, type ReconcileContext, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { scripted, start, unavailable } from './controller-fixture.ts';

describe('Controller, when a reconcile panics', () => {
  const mistake = (): Promise<ReconcileResult> => {
    const nothing = undefined as unknown as { readonly field: string };
    return Promise.resolve({ kind: nothing.field } as unknown as ReconcileResult);
  };

  it('should recover panic by default: it counts, and the key is tried again', async () => {
    let runs = 0;
    const { controller, clock, metrics, end } = start((_key, _context) => {
      runs += 1;
      return runs === 1 ? mistake() : Promise.resolve(done);
    });
    controller.enqueue('a');
    await clock.advance(250);
    assert.equal(runs, 2);
    assert.deepEqual([metrics.panics, metrics.results.error, metrics.results.success], [1, 1, 1]);
    await end();
  });

  it('takes a thrown value that is no Error as a panic, too', async () => {
    const text = JSON.parse('"just text"') as Error;
    const { controller, clock, metrics, end } = start(() => Promise.reject(text));
    controller.enqueue('a');
    await clock.advance(0);
    assert.equal(metrics.panics, 1);
    await end();
  });

  it('an error that the reconcile foresaw is no panic', async () => {
    const { controller, clock, metrics, end } = start(() => Promise.reject(new CodedError('EXPECTED', 'expected')));
    controller.enqueue('a');
    await clock.advance(0);
    assert.equal(metrics.panics, 0);
    await end();
  });
});

describe('Controller, when the API server asks for time', () => {
  it('comes again no sooner than it was asked to, and never later than the longest wait', async () => {
    for (const [askedMs, waitMs] of [
      [1500, 1500],
      [10, 250],
      [3_600_000, 2000],
    ] as const) {
      const busy = new KubeError('TooManyRequests', 'busy', { retryAfterMs: askedMs });
      let runs = 0;
      const reconcile = () => (++runs === 1 ? Promise.reject(busy) : Promise.resolve(done));
      const { controller, clock, end } = start(reconcile);
      controller.enqueue('a');
      await clock.advance(waitMs - 1);
      assert.equal(runs, 1);
      await clock.advance(1);
      assert.equal(runs, 2);
      await end();
    }
  });
});

describe('Controller, when a reconcile takes too long', () => {
  /** Runs until released, whatever the signal says. */
  function hanging() {
    const release = Promise.withResolvers<ReconcileResult>();
    const contexts: ReconcileContext[] = [];
    const reconcile: Reconcile = (_key, context) => {
      contexts.push(context);
      return contexts.length === 1 ? release.promise : Promise.resolve(done);
    };
    return { reconcile, contexts, release };
  }

  it('should time out if ReconciliationTimeout is set: the signal says why', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, metrics, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(999);
    assert.equal(contexts[0]?.signal.aborted, false);
    await clock.advance(1);
    assert.equal((contexts[0].signal.reason as CodedError).code, 'RECONCILE_TIMEOUT');
    assert.equal(metrics.timeouts, 1);
    release.resolve(done);
    await end();
  });

  it('keeps the key locked until the function returns, and says so after each further interval', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, logger, metrics, end } = start(reconcile, {
      reconcileTimeoutMs: 1000,
      maxConcurrentReconciles: 2,
    });
    controller.enqueue('a');
    await clock.advance(0);
    controller.enqueue('a');
    await clock.advance(3000);
    assert.equal(contexts.length, 1, 'the key is not handed out again');
    assert.deepEqual(
      logger.shown().map(([, message]) => message),
      [
        'Reconcile takes too long; asking it to stop',
        'Reconcile was asked to stop and still runs; its key stays locked',
        'Reconcile was asked to stop and still runs; its key stays locked',
      ],
    );
    assert.equal(metrics.timeouts, 1, 'one run counts once');
    release.resolve(done);
    await clock.advance(0);
    assert.equal(contexts.length, 2);
    await end();
  });

  it('reconcile_timeouts: not counted when the reconcile returns in time', async () => {
    const { reconcile } = scripted(done);
    const { controller, clock, metrics, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(5000);
    assert.equal(metrics.timeouts, 0);
    await end();
  });

  it('reconcile_timeouts: not counted when the reconcile throws in time', async () => {
    const { reconcile } = scripted(new TerminalError(unavailable));
    const { controller, clock, metrics, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(5000);
    assert.equal(metrics.timeouts, 0);
    await end();
  });

  it('reconcile_timeouts: not counted when the controller stops', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, metrics, stop, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(10);
    stop.abort();
    await clock.advance(10);
    assert.equal(contexts[0]?.signal.aborted, true);
    assert.equal(metrics.timeouts, 0);
    release.resolve(done);
    await end();
  });

  it('reconcile_timeouts: without a timeout there is none, however long it takes', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, metrics, end } = start(reconcile);
    controller.enqueue('a');
    await clock.advance(1_000_000);
    assert.equal(contexts[0]?.signal.aborted, false);
    assert.equal(metrics.timeouts, 0);
    release.resolve(done);
    await end();
  });

  it('reconcile_timeouts: a run that ends with an error after the timeout counts and is tried again', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, metrics, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(1000);
    release.reject(new CodedError('ABORTED', 'aborted', { retry: 'yes' }));
    await clock.advance(250);
    assert.equal(contexts.length, 2);
    assert.deepEqual([metrics.timeouts, metrics.results.error], [1, 1]);
    await end();
  });

  it('reconcile_timeouts: a run that succeeds after the timeout counts and is done', async () => {
    const { reconcile, contexts, release } = hanging();
    const { controller, clock, metrics, end } = start(reconcile, { reconcileTimeoutMs: 1000 });
    controller.enqueue('a');
    await clock.advance(1000);
    release.resolve(done);
    await clock.advance(5000);
    assert.equal(contexts.length, 1);
    assert.deepEqual([metrics.timeouts, metrics.results.success], [1, 1]);
    await end();
  });
});
