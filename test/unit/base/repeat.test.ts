import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repeat, waitUntil } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('repeated work', () => {
  it('runs at once, then a period after its end, until the signal is aborted', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    let runs = 0;
    const running = repeat({ clock, periodMs: 10, signal: stop.signal }, () => {
      runs += 1;
    });
    assert.equal(runs, 1);
    await clock.advance(9);
    assert.equal(runs, 1);
    await clock.advance(1);
    assert.equal(runs, 2);
    stop.abort();
    await running;
    assert.equal(clock.pending, 0);
  });

  it('ends with the failure of a run', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    await assert.rejects(
      repeat({ clock, periodMs: 10, signal }, () => Promise.reject(new RangeError('wrong'))),
      RangeError,
    );
  });
});

describe('waiting until something holds', () => {
  it('ends as soon as it holds at a look, or when the signal is aborted', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    let holds = false;
    const waiting = waitUntil({ clock, periodMs: 10, signal: stop.signal }, () => holds);
    holds = true;
    await clock.advance(10);
    await waiting;
    const stopped = waitUntil({ clock, periodMs: 10, signal: stop.signal }, () => false);
    stop.abort();
    await stopped;
    assert.equal(clock.pending, 0);
  });
});
