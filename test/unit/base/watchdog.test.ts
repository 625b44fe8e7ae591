import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { Watchdog } from '../../../src/base/watchdog.ts';
import { WatchdogMetrics } from '../../../src/metrics/manager.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const LIMIT_MS = 30_000;

function start() {
  const [clock, logger, stop] = [new FakeClock(), new RecordingLogger(), new AbortController()];
  const registry = new Registry();
  const metrics = new WatchdogMetrics(registry);
  const watchdog = new Watchdog({ clock, logger, onStalled: (name) => metrics.stalled(name) });
  metrics.follow(watchdog);
  const running = watchdog.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
    assert.equal(clock.pending, 0, 'a timer is left');
  };
  return { clock, logger, registry, metrics, watchdog, end };
}

describe('Watchdog', () => {
  it('work that makes no progress for its time is in the log, in readiness and in the metric, and is broken off once', async () => {
    const { clock, logger, registry, watchdog, end } = start();
    let brokenOff = 0;
    const work = watchdog.register('list models', LIMIT_MS, () => (brokenOff += 1));
    await clock.advance(LIMIT_MS - 1);
    assert.equal(watchdog.problem, undefined);
    await clock.advance(5001);
    assert.match(String(watchdog.problem), /^list models has made no progress for 3\d s$/);
    await clock.advance(60_000);
    assert.equal(brokenOff, 1);
    assert.deepEqual(
      logger.lines.map(({ level, work: name }) => [level, name]),
      [['error', 'list models']],
    );
    const text = await registry.metrics();
    assert.match(text, /ingester_work_stalled_total\{work="list models"\} 1/);
    assert.match(text, /ingester_work_silent_seconds\{work="list models"\} 95/);
    work.done();
    await end();
  });

  it('work that only the deadlines of its calls end is told all the same, and the log does not say that it is broken off', async () => {
    const { clock, logger, watchdog, end } = start();
    const call = Promise.withResolvers<undefined>();
    const work = watchdog.around('reconcile models', LIMIT_MS, () => call.promise);
    await clock.advance(LIMIT_MS + 5000);
    assert.match(String(watchdog.problem), /^reconcile models has made no progress/);
    assert.deepEqual(
      logger.lines.map(({ message }) => message),
      ['Work makes no progress; the deadlines of its calls end it'],
    );
    call.resolve(undefined);
    await work;
    await end();
  });

  it('work that goes on making progress is left alone, however long it takes', async () => {
    const { clock, logger, watchdog, end } = start();
    const work = watchdog.register('list models', LIMIT_MS, () => assert.fail('it was broken off'));
    for (let round = 0; round < 20; round += 1) {
      await clock.advance(LIMIT_MS - 1);
      work.progress();
    }
    assert.deepEqual([watchdog.problem, logger.lines], [undefined, []]);
    work.done();
    await end();
  });

  it('one stalled work among many that make progress is a problem', async () => {
    const { clock, watchdog, end } = start();
    const stalled = watchdog.register('write', LIMIT_MS);
    for (let round = 0; round < 10; round += 1) {
      await clock.advance(5000);
      watchdog.register('write', LIMIT_MS).done();
    }
    assert.match(String(watchdog.problem), /^write has made no progress for 50 s$/);
    stalled.done();
    await end();
  });

  it('work that was broken off stays a problem until one of its next attempts makes progress', async () => {
    const { clock, watchdog, end } = start();
    const first = watchdog.register('list models', LIMIT_MS, () => first.done());
    await clock.advance(LIMIT_MS + 5000);
    assert.equal(watchdog.problem, 'list models was broken off and has not got on since');
    const second = watchdog.register('list models', LIMIT_MS);
    await clock.advance(LIMIT_MS - 1);
    assert.notEqual(watchdog.problem, undefined);
    second.progress();
    assert.equal(watchdog.problem, undefined);
    second.done();
    await end();
  });

  it('work that was broken off and is never tried again stops being a problem', async () => {
    const { clock, watchdog, end } = start();
    const work = watchdog.register('reconcile models', LIMIT_MS, () => work.done());
    await clock.advance(LIMIT_MS + 5000);
    assert.notEqual(watchdog.problem, undefined);
    await clock.advance(2 * LIMIT_MS + 60_000);
    assert.equal(watchdog.problem, undefined);
    await end();
  });

  it('a breaking off that throws is logged and ends nothing', async () => {
    const { clock, logger, watchdog, end } = start();
    watchdog.register('write', LIMIT_MS, () => assert.fail('no'));
    await clock.advance(LIMIT_MS + 5000);
    assert.equal(logger.lines.length, 2);
    await end();
  });

  it('names that were prepared have their series before the first work', async () => {
    const registry = new Registry();
    const metrics = new WatchdogMetrics(registry);
    const watchdog = new Watchdog({ clock: new FakeClock(), logger: new RecordingLogger() });
    watchdog.prepare(['write']);
    metrics.follow(watchdog);
    const text = await registry.metrics();
    assert.match(text, /ingester_work_stalled_total\{work="write"\} 0/);
    assert.match(text, /ingester_work_silent_seconds\{work="write"\} 0/);
  });
});
