import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leaseName } from '../../../src/app/elector.ts';

describe('the lease of a reconciler', () => {
  it('is the same for every reconciler that syncs, whether or not it audits', () => {
    for (const controllers of [['sync'], ['sync', 'audit']])
      assert.equal(leaseName(new Set(controllers)), 'ingester-reconciler');
  });

  it('is another lease for a reconciler that only audits, so that the two do not wait for each other', () => {
    assert.equal(leaseName(new Set(['audit'])), 'ingester-reconciler-audit');
  });
});
