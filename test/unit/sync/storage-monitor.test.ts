// What the reconciler knows of a database that is silent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
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
