import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import { addFinalizerPatch, removeFinalizerPatch } from '../../../src/sync/finalizer.ts';
import { applyJsonPatch } from '../../support/apply-json-patch.ts';
import { aModel } from '../../support/objects.ts';

const after = (finalizers: readonly string[]): readonly string[] | undefined => {
  const object = aModel({ finalizers });
  return applyJsonPatch(object, removeFinalizerPatch(object)).metadata.finalizers;
};

describe('finalizer patches', () => {
  it('remove our finalizer and keep the order of the others', () => {
    assert.deepEqual(after(['a', FINALIZER, 'b']), ['a', 'b']);
    assert.deepEqual(after([FINALIZER]), []);
  });

  it('remove our finalizer wherever it stands, also twice', () => {
    assert.deepEqual(after([FINALIZER, 'a', FINALIZER]), ['a']);
  });

  it('do not apply to another state of the object', () => {
    const object = aModel({ resourceVersion: '1' });
    const changed = aModel({ resourceVersion: '2' });
    assert.throws(() => applyJsonPatch(changed, removeFinalizerPatch(object)));
    assert.throws(() => applyJsonPatch(changed, addFinalizerPatch(object)));
  });

  it('do not apply where another finalizer has taken the place', () => {
    const object = aModel({ finalizers: ['a', FINALIZER] });
    assert.throws(() => applyJsonPatch(aModel({ finalizers: [FINALIZER, 'a'] }), removeFinalizerPatch(object)));
  });

  it('add our finalizer to a list, and make the list where there is none', () => {
    const { finalizers: _, ...metadata } = aModel().metadata;
    const bare = { ...aModel(), metadata };
    assert.deepEqual(applyJsonPatch(bare, addFinalizerPatch(bare)).metadata['finalizers'], [FINALIZER]);
    const held = aModel({ finalizers: ['a'] });
    assert.deepEqual(applyJsonPatch(held, addFinalizerPatch(held)).metadata.finalizers, ['a', FINALIZER]);
  });
});
