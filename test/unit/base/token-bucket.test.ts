import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TokenBucket } from '../../../src/base/token-bucket.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const { signal } = new AbortController();

/** Milliseconds at which each of so many calls, made at once, may go. */
async function startsOf(calls: number, perSecond: number, burst: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const limiter = new TokenBucket({ perSecond, burst }, clock);
  const starts: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    void limiter.acquire(signal).then(() => starts.push(clock.monotonicMs()));
  }
  await clock.advance(60_000);
  return starts;
}

describe('a token bucket', () => {
  it('lets a burst through and then one call at a time, in order', async () => {
    assert.deepEqual(await startsOf(6, 50, 3), [0, 0, 0, 20, 40, 60]);
  });

  it('limits no call at zero', async () => {
    assert.deepEqual(await startsOf(4, 0, 1), [0, 0, 0, 0]);
  });

  it('saves up no more than the burst while no call comes', async () => {
    const clock = new FakeClock();
    const limiter = new TokenBucket({ perSecond: 10, burst: 2 }, clock);
    await clock.advance(60_000);
    const waits: number[] = [];
    for (let call = 0; call < 3; call += 1) void limiter.acquire(signal).then((waited) => waits.push(waited));
    await clock.advance(1000);
    assert.deepEqual(waits, [0, 0, 100]);
  });

  it('tells how long a call had to wait', async () => {
    const clock = new FakeClock();
    const limiter = new TokenBucket({ perSecond: 1, burst: 1 }, clock);
    assert.equal(await limiter.acquire(signal), 0);
    const second = limiter.acquire(signal);
    await clock.advance(1000);
    assert.equal(await second, 1000);
  });
});
