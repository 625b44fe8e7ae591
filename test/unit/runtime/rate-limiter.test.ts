import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ItemExponentialRateLimiter } from '../../../src/runtime/rate-limiter.ts';

describe('ItemExponentialRateLimiter', () => {
  it('TestItemExponentialFailureRateLimiter: doubles the wait of each key by itself, until it is forgotten', () => {
    const limiter = new ItemExponentialRateLimiter({ baseMs: 1, capMs: 1000 });
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => limiter.when('one')),
      [1, 2, 4, 8, 16],
    );
    assert.equal(limiter.when('two'), 1);
    limiter.forget('one');
    assert.equal(limiter.when('one'), 1);
  });

  it('TestItemExponentialFailureRateLimiterOverFlow: never goes beyond the cap', () => {
    const limiter = new ItemExponentialRateLimiter();
    const waits = Array.from({ length: 2000 }, () => limiter.when('one'));
    assert.deepEqual(waits.slice(0, 4), [5, 10, 20, 40]);
    assert.equal(waits[17], 655_360);
    assert.ok(waits.slice(18).every((wait) => wait === 1_000_000));
  });

  it('a base above the cap is cut to it', () => {
    assert.equal(new ItemExponentialRateLimiter({ baseMs: 250, capMs: 100 }).when('one'), 100);
  });
});
