import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BoundedCache } from '../../../src/query/bounded-cache.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const stays = new AbortController().signal;

describe('a cache of answers', () => {
  const setUp = () => {
    const clock = new FakeClock();
    return { clock, cache: new BoundedCache<string>({ clock, capacity: 2, keepMs: 1000 }) };
  };

  it('keeps an answer for its time from when it came', async () => {
    const { clock, cache } = setUp();
    let loads = 0;
    const load = () => Promise.resolve(`answer ${(loads += 1)}`);
    assert.equal(await cache.get('a', load, stays), 'answer 1');
    await clock.advance(999);
    assert.equal(await cache.get('a', load, stays), 'answer 1');
    await clock.advance(1);
    assert.equal(await cache.get('a', load, stays), 'answer 2');
  });

  it('ends the work when the last caller that waits for it has gone, and not before', async () => {
    const { cache } = setUp();
    const signals: AbortSignal[] = [];
    const load = (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<string>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('ended'))),
      );
    };
    const [one, two] = [new AbortController(), new AbortController()];
    const both = Promise.allSettled([cache.get('a', load, one.signal), cache.get('a', load, two.signal)]);
    one.abort();
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false],
    );
    two.abort();
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true],
    );
    await both;
    assert.equal(await cache.get('a', () => Promise.resolve('new'), stays), 'new');
  });

  it('keeps no failure, and forgets the oldest beyond its capacity', async () => {
    const { cache } = setUp();
    await assert.rejects(
      cache.get('a', () => Promise.reject(new TypeError('no')), stays),
      TypeError,
    );
    assert.equal(cache.has('a'), false);
    for (const key of ['a', 'b', 'c']) await cache.get(key, () => Promise.resolve(key), stays);
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => cache.has(key)),
      [false, true, true],
    );
  });
});
