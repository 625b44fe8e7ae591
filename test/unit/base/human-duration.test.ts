import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { age, humanDuration } from '../../../src/base/human-duration.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('the age in a table', () => {
  // The values of the API server's own function.
  const known = [
    [-1 * second, '0s'],
    [-2 * second, '<invalid>'],
    [0, '0s'],
    [second + 999, '1s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [5 * minute + 30 * second, '5m30s'],
    [10 * minute, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [4 * hour + 30 * minute, '4h30m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [2 * day + 23 * hour, '2d23h'],
    [8 * day, '8d'],
    [729 * day, '729d'],
    [2 * 365 * day, '2y'],
    [3 * 365 * day + 12 * day, '3y12d'],
    [8 * 365 * day, '8y'],
    [40 * 365 * day, '40y'],
  ] as const;
  for (const [milliseconds, text] of known) {
    it(`is ${text} for ${milliseconds} ms`, () => assert.equal(humanDuration(milliseconds), text));
  }

  it('is unknown where there is no time', () => {
    const now = new Date();
    assert.equal(age(undefined, now), '<unknown>');
    assert.equal(age('yesterday', now), '<unknown>');
  });
});
