// The scenarios of controller-runtime's predicate tests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import {
  and,
  objectPredicate,
  type Predicate,
  predicateFuncs,
  resourceVersionChanged,
} from '../../../src/runtime/predicate.ts';
import { aModel } from '../../support/objects.ts';

const object = asWatched(aModel());

/** The verdicts on create, update and delete. */
function verdicts(predicate: Predicate): readonly boolean[] {
  return [
    predicate.create({ object, initial: false }),
    predicate.update({ before: object, after: object }),
    predicate.delete({ object, finalStateUnknown: false }),
  ];
}

function onUpdate(predicate: Predicate, before: Partial<ObjectMeta>, after: Partial<ObjectMeta>): boolean {
  return predicate.update({ before: asWatched(aModel(before)), after: asWatched(aModel(after)) });
}

describe('predicateFuncs', () => {
  it('lets an event pass that no function is given for', () => {
    assert.deepEqual(verdicts(predicateFuncs({})), [true, true, true]);
    assert.deepEqual(verdicts(predicateFuncs({ create: () => false })), [false, true, true]);
    assert.deepEqual(verdicts(predicateFuncs({ update: () => false })), [true, false, true]);
    assert.deepEqual(verdicts(predicateFuncs({ delete: () => false })), [true, true, false]);
  });
});

describe('objectPredicate', () => {
  it('judges the object, of an update the new one', () => {
    const predicate = objectPredicate(({ identity }) => identity.name === 'wanted');
    assert.deepEqual(verdicts(predicate), [false, false, false]);
    assert.equal(onUpdate(predicate, { name: 'other' }, { name: 'wanted' }), true);
    assert.equal(onUpdate(predicate, { name: 'wanted' }, { name: 'other' }), false);
  });
});

describe('resourceVersionChanged', () => {
  it('judges updates only', () => {
    assert.deepEqual(verdicts(resourceVersionChanged), [true, false, true]);
    assert.equal(onUpdate(resourceVersionChanged, { resourceVersion: '1' }, { resourceVersion: '2' }), true);
    assert.equal(onUpdate(resourceVersionChanged, { resourceVersion: '1' }, { resourceVersion: '1' }), false);
  });
});

describe('and', () => {
  const pass = predicateFuncs({});
  const fail = objectPredicate(() => false);

  it('passes what all pass', () => {
    assert.deepEqual(verdicts(and(pass, pass)), [true, true, true]);
    assert.deepEqual(verdicts(and(pass, fail)), [false, false, false]);
    assert.deepEqual(verdicts(and()), [true, true, true]);
  });
});
