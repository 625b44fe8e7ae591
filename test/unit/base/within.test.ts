import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { within } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new Promise<never>(() => undefined);
const late = (): number => 0;

describe('waiting for an answer for a limited time', () => {
  it('leaves no timer behind and tells the work when to stop', async () => {
    const clock = new FakeClock();
    assert.equal(await within({ clock, timeoutMs: 10 }, () => Promise.resolve(1), late), 1);
    assert.equal(clock.pending, 0);
    let stopped = false;
    const result = within(
      { clock, timeoutMs: 10 },
      (stop) => {
        stop.addEventListener('abort', () => (stopped = true));
        return never;
      },
      late,
    );
    await clock.advance(10);
    assert.equal(await result, 0);
    assert.equal(stopped, true);
  });

  it('reports nothing of work that fails after the time is over', async () => {
    const clock = new FakeClock();
    const work = Promise.withResolvers<number>();
    const result = within({ clock, timeoutMs: 10 }, () => work.promise, late);
    await clock.advance(10);
    work.reject(new RangeError('late'));
    assert.equal(await result, 0);
  });

  it('rejects with what `late` throws, which is the reason that the work is given', async () => {
    const clock = new FakeClock();
    const error = new RangeError('too late');
    let reason: unknown;
    const result = within(
      { clock, timeoutMs: 10 },
      (stop) => {
        stop.addEventListener('abort', () => (reason = stop.reason as unknown));
        return never;
      },
      () => {
        throw error;
      },
    );
    await Promise.all([assert.rejects(result, error), clock.advance(10)]);
    assert.equal(reason, error);
  });

  it('waits no longer once the signal is aborted', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const result = within({ clock, timeoutMs: 10, signal: stop.signal }, () => never, late);
    stop.abort();
    assert.equal(await result, 0);
    assert.equal(clock.pending, 0);
  });
});
