import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { objectKey } from '../../../src/api/object.ts';

describe('objectKey', () => {
  it('is namespace and name, and for cluster-scoped objects the name after a slash', () => {
    assert.equal(objectKey({ metadata: { namespace: 'ns', name: 'a' } }), 'ns/a');
    assert.equal(objectKey({ metadata: { name: 'a' } }), '/a');
  });
});
