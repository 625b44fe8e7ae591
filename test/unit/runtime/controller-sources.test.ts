// How a controller starts, waits for and ends its sources.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFunc } from '../../../src/runtime/source.ts';
import { heldSource, scripted, setUp, start, unavailable } from './controller-fixture.ts';

describe('Controller, with sources', () => {
  it('should not call Reconcile until all event handlers have processed initial objects', async () => {
    const { reconcile, runs } = scripted();
    const [first, second] = [heldSource('first'), heldSource('second')];
    const { clock, end } = start(reconcile, { sources: [first.source, second.source] });
    await clock.advance(1000);
    assert.deepEqual([first.starts(), second.starts()], [1, 1], 'all are started, none waits for another');
    first.sync();
    await clock.advance(1000);
    assert.equal(runs.length, 0);
    second.sync();
    await clock.advance(0);
    assert.equal(runs.length, 2);
    await end();
  });

  it('works while its sources are synced where it is asked to, and has no position before they are', async () => {
    const { reconcile, runs } = scripted();
    const [first, second] = [heldSource('first'), heldSource('second')];
    const sources = [first.source, second.source];
    const { clock, controller, end } = start(reconcile, { sources, worksWhileSyncing: true });
    controller.enqueue('early');
    await clock.advance(0);
    assert.deepEqual([runs.length, controller.unfinished()], [3, undefined]);
    for (const { sync } of [first, second]) sync();
    await clock.advance(0);
    assert.deepEqual([runs.length, controller.unfinished()?.size], [3, 0]);
    await end();
  });

  it('ends with the error of a source that is not synced in time, also where it works meanwhile', async () => {
    const options = { sources: [heldSource('slow').source], cacheSyncTimeoutMs: 1000, worksWhileSyncing: true };
    const { clock, finished } = start(scripted().reconcile, options);
    const failed = assert.rejects(finished, { code: 'CACHE_SYNC_TIMEOUT' });
    await clock.advance(1000);
    await failed;
    assert.equal(clock.pending, 0);
  });

  it('should error when cache sync timeout occurs, naming the source', async () => {
    const slow = heldSource('slow');
    const { clock, finished } = start(scripted().reconcile, {
      sources: [slow.source, heldSource('other').source],
      cacheSyncTimeoutMs: 1000,
    });
    const failed = assert.rejects(
      finished,
      /failed to wait for test caches to sync: timed out waiting for source slow/,
    );
    await clock.advance(1000);
    await failed;
    assert.equal(clock.pending, 0);
  });

  it('waits two minutes unless told otherwise, and for ever if told', async () => {
    const usual = start(scripted().reconcile, { sources: [heldSource('slow').source] });
    const failed = assert.rejects(usual.finished, { code: 'CACHE_SYNC_TIMEOUT' });
    await usual.clock.advance(119_999);
    assert.equal(usual.clock.pending, 1);
    await usual.clock.advance(1);
    await failed;
    const patient = start(scripted().reconcile, { sources: [heldSource('x').source], cacheSyncTimeoutMs: Infinity });
    assert.equal(patient.clock.pending, 0);
    await patient.end();
  });

  it('should not error when controller Start context is cancelled during Sources WaitForSync', async () => {
    const { clock, end } = start(scripted().reconcile, { sources: [heldSource('slow').source] });
    await clock.advance(1000);
    await end();
  });

  it('should error when Start() is blocking forever', async () => {
    const blocking = sourceFunc('blocking', () => new Promise<void>(() => undefined));
    const { clock, finished } = start(scripted().reconcile, { sources: [blocking], cacheSyncTimeoutMs: 1000 });
    const failed = assert.rejects(finished, /waiting for source blocking to start; its start must not block/);
    await clock.advance(1000);
    await failed;
  });

  it('ends with the error of a source that cannot start', async () => {
    const broken = sourceFunc('broken', () => Promise.reject(unavailable));
    const { finished, clock } = start(scripted().reconcile, { sources: [broken, heldSource('other').source] });
    await assert.rejects(finished, unavailable);
    assert.equal(clock.pending, 0);
  });

  it('should return an error if it gets started more than once', async () => {
    const { controller, stop, end } = start(scripted().reconcile);
    await assert.rejects(controller.run(stop.signal), { code: 'ALREADY_STARTED' });
    await end();
    await assert.rejects(controller.run(stop.signal), { code: 'ALREADY_STARTED' });
  });

  it('starts sources added before the start with it, and those added later at once', async () => {
    const { reconcile, runs } = scripted();
    const { controller, clock, stop } = setUp(reconcile);
    await controller.watch(sourceFunc('before', ({ queue }) => queue.add('before')));
    const finished = controller.run(stop.signal);
    await clock.advance(0);
    await controller.watch(sourceFunc('after', ({ queue }) => queue.add('after')));
    await clock.advance(0);
    assert.deepEqual(
      runs.map(({ key }) => key),
      ['before', 'after'],
    );
    stop.abort();
    await finished;
  });

  it('ends what its sources started when it stops', async () => {
    let sourceSignal: AbortSignal | undefined;
    const source = sourceFunc('test', (_context, signal) => {
      sourceSignal = signal;
    });
    const { clock, end } = start(scripted().reconcile, { sources: [source] });
    await clock.advance(0);
    assert.equal(sourceSignal?.aborted, false);
    await end();
    assert.equal(sourceSignal.aborted, true);
  });
});

describe('Controller, warmed up', () => {
  it('should start sources and sync them without calling Reconcile', async () => {
    const { reconcile, runs } = scripted();
    const held = heldSource('test');
    const { controller, clock, stop } = setUp(reconcile, { sources: [held.source] });
    const warm = controller.warmup(stop.signal);
    held.sync();
    await warm;
    await clock.advance(1000);
    assert.deepEqual([held.starts(), runs.length], [1, 0]);
    const finished = controller.run(stop.signal);
    await clock.advance(0);
    assert.deepEqual([held.starts(), runs.length], [1, 1], 'the work that came before is done now');
    stop.abort();
    await finished;
  });

  it('should only start sources once when called multiple times concurrently', async () => {
    const held = heldSource('test');
    const { controller, stop } = setUp(scripted().reconcile, { sources: [held.source] });
    const all = [controller.warmup(stop.signal), controller.warmup(stop.signal), controller.run(stop.signal)];
    held.sync();
    stop.abort();
    await Promise.all(all);
    assert.equal(held.starts(), 1);
  });

  it('should error when the warm-up times out, in the warm-up and in the run', async () => {
    const { controller, clock, stop } = setUp(scripted().reconcile, { sources: [heldSource('slow').source] });
    const failed = assert.rejects(controller.warmup(stop.signal), { code: 'CACHE_SYNC_TIMEOUT' });
    await clock.advance(120_000);
    await failed;
    await assert.rejects(controller.run(stop.signal), { code: 'CACHE_SYNC_TIMEOUT' });
  });

  it('should end its sources when it is stopped without ever having run', async () => {
    let sourceSignal: AbortSignal | undefined;
    const source = sourceFunc('test', (_context, signal) => {
      sourceSignal = signal;
    });
    const { controller, stop } = setUp(scripted().reconcile, { sources: [source] });
    await controller.warmup(stop.signal);
    stop.abort();
    assert.equal(sourceSignal?.aborted, true);
  });
});
