import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareApiVersions } from '../../../src/api/api-version.ts';

/** From the oldest to the newest. */
const ordered = ['v1alpha1', 'v1alpha2', 'v2alpha1', 'v1beta1', 'v1beta10', 'v2beta1', 'v1', 'v2', 'v10'];

describe('the order of API versions', () => {
  it('is the order of Kubernetes', () => {
    for (const [left, from] of ordered.entries()) {
      for (const [right, to] of ordered.entries()) {
        const expected = left === right ? 'same' : left < right ? 'newer' : 'older';
        assert.equal(compareApiVersions(from, to), expected, `${from} -> ${to}`);
      }
    }
  });

  it('leaves other names without order', () => {
    for (const name of ['', 'v0', 'v01', 'v1gamma1', 'v1alpha', '2', 'stored.v2']) {
      assert.equal(compareApiVersions(name, 'v2'), undefined, name);
      assert.equal(compareApiVersions('v2', name), undefined, name);
    }
  });
});
