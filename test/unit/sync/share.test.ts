import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partOf } from '../../../src/sync/share.ts';

describe('the part of a limit that is meant for all replicas', () => {
  it('is all of it where one works alone', () => {
    assert.equal(partOf(50, undefined), 50);
  });

  it('is rounded up, and 1 at least', () => {
    const of = (replicas: number) => ({ replicas: () => replicas });
    assert.deepEqual([partOf(50, of(3)), partOf(2, of(5)), partOf(50, of(1)), partOf(50, of(0))], [17, 1, 50, 50]);
  });

  it('is no limit where there is none', () => {
    assert.equal(partOf(0, { replicas: () => 3 }), 0);
  });
});
