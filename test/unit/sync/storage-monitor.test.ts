// What the reconciler knows of a database that is silent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ShardUnavailableError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import { StorageMonitor } from '../../../src/sync/status/storage-monitor.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

describe('a database that is silent', () => {
  it('is said to be so since it was asked, also once the question has failed', async () => {
    const clock = new FakeClock();
    const storage = new MemoryStorage();
    storage.check = () =>
      new Promise((_resolve, reject) =>
        clock.schedule(30_000, () => reject(new StorageUnavailableError('timeout', undefined))),
      );
    const asked = clock.now();
    const parts = { storage, kinds: [modelKind], periodMs: 5000, clock, logger: new RecordingLogger() };
    const monitor = new StorageMonitor({ ...parts, onRecovered: () => undefined });
    const stop = new AbortController();
    const running = monitor.run(stop.signal);
    await settle();
    await clock.advance(6000);
    assert.deepEqual(monitor.problemSince, asked);
    await clock.advance(25_000);
    assert.match(monitor.problem ?? '', /timeout/);
    assert.deepEqual(monitor.problemSince, asked);
    stop.abort();
    await clock.advance(60_000);
    await running;
  });
});

describe('a database of which one shard is away', () => {
  it('can be used, is said to have a problem, and has recovered when all of them answer', async () => {
    const clock = new FakeClock();
    const storage = new MemoryStorage();
    const told: string[] = [];
    let failure: Error | undefined = new StorageUnavailableError('ECONNREFUSED', undefined);
    storage.check = () => (failure === undefined ? Promise.resolve() : Promise.reject(failure));
    const monitor = new StorageMonitor({
      ...{ storage, kinds: [modelKind], periodMs: 5000, clock, logger: new RecordingLogger() },
      onUsable: () => told.push('usable'),
      onRecovered: () => told.push('recovered'),
    });
    const stop = new AbortController();
    const running = monitor.run(stop.signal);
    await settle();
    assert.deepEqual(told, []);
    failure = new ShardUnavailableError('ER_UNKNOWN_ERROR 1105', '80-');
    await clock.advance(500);
    assert.deepEqual(told, ['usable']);
    assert.match(monitor.problem ?? '', /from the shard 80-/);
    failure = undefined;
    await clock.advance(500);
    assert.deepEqual([...told, monitor.problem], ['usable', 'usable', 'recovered', undefined]);
    stop.abort();
    await clock.advance(60_000);
    await running;
  });
});
