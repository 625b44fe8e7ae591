import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deletionTimeOf, isBornDeleting, objectKey } from '../../../src/api/object.ts';

describe('objectKey', () => {
  it('is namespace and name, and for cluster-scoped objects the name after a slash', () => {
    assert.equal(objectKey({ metadata: { namespace: 'ns', name: 'a' } }), 'ns/a');
    assert.equal(objectKey({ metadata: { name: 'a' } }), '/a');
  });
});

describe('the time of a deletion', () => {
  const now = new Date('2026-02-01T00:00:00Z');
  const creationTimestamp = '2026-01-01T00:00:00Z';
  const cases: readonly { name: string; deletionTimestamp: string; generation: number; time: string }[] = [
    { name: 'what the API server says', deletionTimestamp: '2026-01-15T00:00:00Z', generation: 2, time: '2026-01-15' },
    {
      name: 'the creation, for an object that was created so',
      deletionTimestamp: '2026-01-15T00:00:00Z',
      generation: 1,
      time: '2026-01-01',
    },
    {
      name: 'the creation, for a time before it',
      deletionTimestamp: '1999-01-01T00:00:00Z',
      generation: 3,
      time: '2026-01-01',
    },
    {
      name: 'the creation, for a time to come',
      deletionTimestamp: '2999-01-01T00:00:00Z',
      generation: 3,
      time: '2026-01-01',
    },
  ];
  for (const { name, time, ...metadata } of cases) {
    it(`is ${name}`, () => {
      const found = deletionTimeOf({ metadata: { ...metadata, creationTimestamp } }, now);
      assert.equal(found?.toISOString().slice(0, 10), time);
    });
  }

  it('is undefined for a live object', () => {
    assert.equal(deletionTimeOf({ metadata: { creationTimestamp, generation: 1 } }, now), undefined);
    assert.equal(isBornDeleting({ metadata: { generation: 1 } }), false);
  });
});
