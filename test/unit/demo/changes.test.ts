import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ChangedModel, MOST, nextChange } from '../../../hack/demo/changes.ts';

const models = (count: number, leaving: number): readonly ChangedModel[] =>
  Array.from({ length: count }, (_, index) => ({
    metadata: { name: `m${index}`, ...(index < leaving ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
  }));

describe('the next small change of the demo', () => {
  it('creates a model while there are few', () => {
    assert.equal(nextChange([]), 'create');
    assert.equal(nextChange(models(MOST - 1, 0)), 'create');
  });

  it('deletes the oldest model that stays, where there are as many as may be', () => {
    assert.deepEqual(nextChange(models(MOST, 0)), { delete: 'm0' });
    assert.deepEqual(nextChange(models(MOST, 2)), { delete: 'm2' });
  });

  it('waits where every model waits to leave, so that none is added while MySQL is away', () => {
    assert.equal(nextChange(models(MOST, MOST)), 'wait');
  });
});
