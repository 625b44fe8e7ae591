// The scenarios of controller-runtime's predicate tests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/api/object.ts';
import {
  and,
  annotationChanged,
  generationChanged,
  labelChanged,
  labelSelector,
  not,
  objectPredicate,
  or,
  type Predicate,
  predicateFuncs,
  resourceVersionChanged,
} from '../../../src/runtime/predicate.ts';
import { aModel } from '../../support/objects.ts';

const object = aModel();

/** The verdicts on create, update, delete and generic. */
function verdicts(predicate: Predicate): readonly boolean[] {
  return [
    predicate.create({ object, initial: false }),
    predicate.update({ before: object, after: object }),
    predicate.delete({ object, finalStateUnknown: false }),
    predicate.generic({ object }),
  ];
}

function onUpdate(predicate: Predicate, before: Partial<ObjectMeta>, after: Partial<ObjectMeta>): boolean {
  return predicate.update({ before: aModel(before), after: aModel(after) });
}

describe('predicateFuncs', () => {
  it('lets pass what no function is given for', () => {
    assert.deepEqual(verdicts(predicateFuncs({})), [true, true, true, true]);
    assert.deepEqual(verdicts(predicateFuncs({ create: () => false })), [false, true, true, true]);
    assert.deepEqual(verdicts(predicateFuncs({ update: () => false })), [true, false, true, true]);
    assert.deepEqual(verdicts(predicateFuncs({ delete: () => false })), [true, true, false, true]);
    assert.deepEqual(verdicts(predicateFuncs({ generic: () => false })), [true, true, true, false]);
  });
});

describe('objectPredicate', () => {
  it('judges the object, of an update the new one', () => {
    const predicate = objectPredicate(({ metadata }) => metadata.name === 'wanted');
    assert.deepEqual(verdicts(predicate), [false, false, false, false]);
    assert.equal(onUpdate(predicate, { name: 'other' }, { name: 'wanted' }), true);
    assert.equal(onUpdate(predicate, { name: 'wanted' }, { name: 'other' }), false);
  });
});

describe('predicates of change', () => {
  for (const [name, predicate, before, changed] of [
    ['resourceVersionChanged', resourceVersionChanged, { resourceVersion: '1' }, { resourceVersion: '2' }],
    ['generationChanged', generationChanged, { generation: 1 }, { generation: 2 }],
    ['labelChanged', labelChanged, { labels: { a: '1' } }, { labels: { a: '2' } }],
    ['labelChanged, when one is added', labelChanged, {}, { labels: { a: '' } }],
    ['annotationChanged', annotationChanged, { annotations: { a: '1' } }, { annotations: { a: '2' } }],
    ['annotationChanged, when one is removed', annotationChanged, { annotations: { a: '1' } }, { annotations: {} }],
  ] as const) {
    it(`${name} judges updates only`, () => {
      const [create, , remove, generic] = verdicts(predicate);
      assert.deepEqual([create, remove, generic], [true, true, true]);
      assert.equal(onUpdate(predicate, before, changed), true);
      assert.equal(onUpdate(predicate, before, before), false);
    });
  }

  it('the order of labels is no change', () => {
    assert.equal(onUpdate(labelChanged, { labels: { a: '1', b: '2' } }, { labels: { b: '2', a: '1' } }), false);
  });

  it('generationChanged drops status writes and resyncs', () => {
    assert.equal(onUpdate(generationChanged, { resourceVersion: '1' }, { resourceVersion: '2' }), false);
  });
});

describe('and, or, not', () => {
  const pass = predicateFuncs({});
  const fail = not(pass);
  it('not turns every verdict round', () => {
    assert.deepEqual(verdicts(fail), [false, false, false, false]);
    assert.deepEqual(verdicts(not(fail)), [true, true, true, true]);
  });

  it('and passes what all pass', () => {
    assert.deepEqual(verdicts(and(pass, pass)), [true, true, true, true]);
    assert.deepEqual(verdicts(and(pass, fail)), [false, false, false, false]);
    assert.deepEqual(verdicts(and()), [true, true, true, true]);
  });

  it('or passes what any passes', () => {
    assert.deepEqual(verdicts(or(pass, fail)), [true, true, true, true]);
    assert.deepEqual(verdicts(or(fail, fail)), [false, false, false, false]);
  });
});

describe('labelSelector', () => {
  const labels = { app: 'web', tier: 'front', 'example.com/level': '7', empty: '' };
  for (const [selector, expected] of [
    ['', true],
    ['app=web', true],
    ['app==web', true],
    ['app = web , tier = front', true],
    ['app=api', false],
    ['app!=api', true],
    ['app!=web', false],
    ['absent!=web', true],
    ['app in (api, web)', true],
    ['app in (api,db)', false],
    ['app notin (api,db)', true],
    ['app notin (web)', false],
    ['absent notin (web)', true],
    ['absent in (web)', false],
    ['app', true],
    ['absent', false],
    ['!absent', true],
    ['!app', false],
    ['example.com/level>6', true],
    ['example.com/level>7', false],
    ['example.com/level<8', true],
    ['example.com/level<7', false],
    ['absent>1', false],
    ['app>1', false],
    ['empty=', true],
    ['empty in (,x)', true],
    ['app=web,tier in (front,back),!absent', true],
    ['app=web,tier in (front,back),absent', false],
  ] as const) {
    it(`"${selector}" ${expected ? 'matches' : 'does not match'}`, () => {
      assert.equal(labelSelector(selector).create({ object: aModel({ labels }), initial: false }), expected);
    });
  }

  for (const selector of [
    '=web',
    'app=web=x',
    'app in web',
    'app in (a',
    'app>x',
    'a b',
    'app=-x',
    ',',
    'app,',
    '/a',
  ]) {
    it(`"${selector}" is refused`, () => {
      assert.throws(() => labelSelector(selector), { code: 'SELECTOR_INVALID' });
    });
  }

  it('an inherited property is no label', () => {
    assert.equal(labelSelector('toString').create({ object, initial: false }), false);
    assert.equal(labelSelector('constructor!=x').create({ object, initial: false }), true);
  });
});
