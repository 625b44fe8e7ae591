import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageProgramError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import { SpoolingPolicy } from '../../../src/sync/flows/spooling-policy.ts';
import { StorageMonitor } from '../../../src/sync/status/storage-monitor.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const AFTER_MS = 600_000;

async function setUp() {
  const fake = new FakeClock();
  let jumpedMs = 0;
  const clock = {
    now: () => new Date(fake.now().getTime() + jumpedMs),
    monotonicMs: () => fake.monotonicMs(),
    schedule: fake.schedule.bind(fake),
  };
  const storage = new MemoryStorage();
  storage.down = true;
  const parts = { storage, kinds: [modelKind], periodMs: 5000, clock, logger: new RecordingLogger() };
  const monitor = new StorageMonitor({ ...parts, onRecovered: () => undefined });
  const stop = new AbortController();
  void monitor.run(stop.signal);
  await settle();
  const policy = new SpoolingPolicy({
    spool: { append: () => Promise.resolve(true) },
    afterMs: AFTER_MS,
    away: () => monitor.away,
    clock,
  });
  const terminatingSince = (date: Date) => policy.isDue(aModel({ deletionTimestamp: date.toISOString() }));
  return { fake, clock, storage, stop, terminatingSince, jump: (byMs: number) => (jumpedMs += byMs) };
}

describe('the removal of finalizers while MySQL is away', () => {
  it('waits until MySQL has been away, and the object Terminating, for so long', async () => {
    const { fake, clock, stop, terminatingSince } = await setUp();
    const old = new Date(0);
    assert.equal(terminatingSince(old), false);
    await fake.advance(AFTER_MS / 2);
    const since = clock.now();
    await fake.advance(AFTER_MS / 2);
    assert.equal(terminatingSince(old), true);
    assert.equal(terminatingSince(since), false);
    await fake.advance(AFTER_MS / 2);
    assert.equal(terminatingSince(since), true);
    stop.abort();
  });

  it('is not hastened by a clock that jumps forward', async () => {
    const { fake, clock, stop, terminatingSince, jump } = await setUp();
    const [old, now] = [new Date(0), clock.now()];
    await fake.advance(1000);
    jump(24 * 3_600_000);
    for (const since of [old, now, clock.now()]) assert.equal(terminatingSince(since), false);
    await fake.advance(AFTER_MS);
    assert.equal(terminatingSince(old), true);
    stop.abort();
  });

  it('ends once MySQL answers', async () => {
    const { fake, storage, stop, terminatingSince } = await setUp();
    storage.down = false;
    await fake.advance(AFTER_MS);
    assert.equal(terminatingSince(new Date(0)), false);
    stop.abort();
  });

  it('counts no time in which MySQL answers and something else is wrong', async () => {
    const { fake, storage, stop, terminatingSince } = await setUp();
    storage.down = false;
    storage.check = () => Promise.reject(new StorageProgramError('TypeError at a line'));
    await fake.advance(2 * AFTER_MS);
    assert.equal(terminatingSince(new Date(0)), false);
    storage.check = () => Promise.reject(new StorageUnavailableError('gone', undefined));
    await fake.advance(AFTER_MS / 2);
    assert.equal(terminatingSince(new Date(0)), false);
    await fake.advance(AFTER_MS);
    assert.equal(terminatingSince(new Date(0)), true);
    stop.abort();
  });
});
