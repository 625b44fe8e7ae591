import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { standAside } from '../../../../webhooks/policy.ts';
import { aRequest } from '../../../support/review.ts';

const model = (metadata: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'michelangelo.api/v2',
  kind: 'Model',
  metadata: { name: 'a', ...metadata },
  spec: { algorithm: 'xgboost' },
  ...more,
});
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const update = (oldObject: JsonObject, object: JsonObject, more: JsonObject = {}): JsonObject => ({
  operation: 'UPDATE',
  oldObject,
  object,
  ...more,
});

const cases: readonly { name: string; request: JsonObject; expected: string | undefined }[] = [
  { name: 'a create', request: { object: model() }, expected: undefined },
  { name: 'an update of spec', request: update(model(), model({}, { spec: {} })), expected: undefined },
  { name: 'an update of a label', request: update(model(), model({ labels: { a: 'b' } })), expected: undefined },
  {
    name: 'an update of an annotation',
    request: update(model(), model({ annotations: { a: 'b' } })),
    expected: undefined,
  },
  { name: 'an update of nothing', request: update(model(), model()), expected: 'unchanged' },
  {
    name: 'an update of finalizers, version and managed fields',
    request: update(
      model({ finalizers: ['a'], resourceVersion: '1', generation: 1, managedFields: [] }),
      model({ finalizers: [], resourceVersion: '2', generation: 2, managedFields: [{ manager: 'x' }] }),
    ),
    expected: 'unchanged',
  },
  {
    name: 'an update of status only',
    request: update(model({}, { status: { state: 'a' } }), model({}, { status: { state: 'b' } })),
    expected: 'unchanged',
  },
  {
    name: 'keys in another order',
    request: update(model({}, { spec: { a: 1, b: [1, { c: 2 }] } }), model({}, { spec: { b: [1, { c: 2 }], a: 1 } })),
    expected: 'unchanged',
  },
  {
    name: 'a list in another order',
    request: update(model({}, { spec: { a: [1, 2] } }), model({}, { spec: { a: [2, 1] } })),
    expected: undefined,
  },
  {
    name: 'anything to an object that is being deleted',
    request: update(model(deleting), model(deleting, { spec: {} })),
    expected: 'deleting',
  },
  {
    name: 'the deletion of an object that is being deleted',
    request: { operation: 'DELETE', object: null, oldObject: model(deleting) },
    expected: 'deleting',
  },
  {
    name: 'an update that claims to be a deletion',
    request: update(model(), model(deleting, { spec: {} })),
    expected: undefined,
  },
  { name: 'a create that claims to be a deletion', request: { object: model(deleting) }, expected: undefined },
  { name: 'a deletion', request: { operation: 'DELETE', object: null, oldObject: model() }, expected: undefined },
  {
    name: 'an update by the reconciler',
    request: update(model(), model({}, { spec: {} }), { userInfo: { username: 'reconciler' } }),
    expected: 'reconciler',
  },
  {
    name: 'what the reconciler does to objects of other groups',
    request: {
      ...update(model(), model({}, { spec: {} }), { userInfo: { username: 'reconciler' } }),
      resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
    },
    expected: undefined,
  },
  {
    name: 'a write of status, which has rules of its own',
    request: update(model(), model({}, { status: { a: 1 } }), { subResource: 'status' }),
    expected: undefined,
  },
];

describe('standing aside', () => {
  for (const { name, request, expected } of cases) {
    it(`${name}: ${expected ?? 'the rules are asked'}`, () =>
      assert.equal(standAside(aRequest(request), 'reconciler'), expected));
  }

  it('compares objects that are nested deeper than any stack', () => {
    const deep = (leaf: string): JsonObject => {
      let value: JsonObject = { leaf };
      for (let depth = 0; depth < 100_000; depth += 1) value = { value };
      return model({}, { spec: value });
    };
    const request = aRequest({ operation: 'UPDATE' });
    const change = { ...request, oldObject: deep('a'), object: deep('b') };
    assert.equal(standAside(change, 'reconciler'), undefined);
    assert.equal(standAside({ ...change, object: deep('a') }, 'reconciler'), 'unchanged');
  });
});
