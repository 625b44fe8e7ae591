import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { classify } from '../../../src/sync/flows/classify.ts';
import { aModel, deleting, immutable, kindNamed } from '../../support/objects.ts';

const stateOf = (metadata: Partial<ObjectMeta>, kind = 'Model', evictImmutableKinds = false): string =>
  classify(aModel(metadata), { kind: kindNamed(kind), evictImmutableKinds }).state;

describe('classify', () => {
  it('follows the order of the decision tree', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    assert.equal(stateOf({ deletionTimestamp, annotations: { ...deleting, ...immutable } }), 'deleting');
    assert.equal(stateOf({ annotations: { ...deleting, ...immutable } }), 'marked');
    assert.equal(stateOf({ annotations: immutable }), 'immutable');
    assert.equal(stateOf({}), 'live');
  });

  it('takes annotations for set only where the value is exactly "true"', () => {
    for (const value of ['True', 'TRUE', '1', 'yes', '', 'false', ' true']) {
      assert.equal(stateOf({ annotations: { 'michelangelo/Deleting': value } }), 'live');
      assert.equal(stateOf({ annotations: { 'michelangelo/Immutable': value } }), 'live');
    }
  });

  it('takes objects of immutable kinds for immutable only where those kinds are evicted', () => {
    assert.equal(stateOf({}, 'Model', true), 'immutable');
    assert.equal(stateOf({}, 'Pipeline', true), 'live');
    assert.equal(stateOf({}, 'Model', false), 'live');
  });
});
