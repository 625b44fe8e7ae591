import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { injectFinalizer } from '../../../webhooks/policies/finalizer.ts';
import { decodeReview } from '../../../webhooks/review.ts';
import { aReview } from '../../support/review.ts';

const reconcilerUser = 'system:serviceaccount:ingester-system:ingester-reconciler';

function patchFor(request: JsonObject): readonly object[] {
  const review = decodeReview(Buffer.from(JSON.stringify(aReview(request))));
  return injectFinalizer(review, { reconcilerUser }).patch;
}

const withFinalizers = (finalizers?: JsonValue, more: JsonObject = {}): JsonObject => ({
  metadata: { name: 'a', ...(finalizers === undefined ? {} : { finalizers }), ...more },
});

const addList = [{ op: 'add', path: '/metadata/finalizers', value: [FINALIZER] }];
const append = [{ op: 'add', path: '/metadata/finalizers/-', value: FINALIZER }];
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };

const cases: readonly { name: string; request: JsonObject; patch: readonly object[] }[] = [
  { name: 'CREATE without finalizers: adds the list', request: { object: withFinalizers() }, patch: addList },
  { name: 'CREATE with null: adds the list', request: { object: withFinalizers(null) }, patch: addList },
  { name: 'CREATE with an empty list: appends', request: { object: withFinalizers([]) }, patch: append },
  { name: 'CREATE with others: appends', request: { object: withFinalizers(['other/one']) }, patch: append },
  { name: 'ours present: nothing', request: { object: withFinalizers(['other/one', FINALIZER]) }, patch: [] },
  { name: 'ours present twice: nothing', request: { object: withFinalizers([FINALIZER, FINALIZER]) }, patch: [] },
  {
    name: 'CREATE by the reconciler: adds the list like for anybody',
    request: { object: withFinalizers(), userInfo: { username: reconcilerUser } },
    patch: addList,
  },
  {
    name: 'UPDATE that lost ours: puts it back',
    request: { operation: 'UPDATE', object: withFinalizers(['other/one']), oldObject: withFinalizers([FINALIZER]) },
    patch: append,
  },
  {
    name: 'UPDATE of a deleting object: nothing, the API server refuses new finalizers',
    request: { operation: 'UPDATE', object: withFinalizers([], deleted), oldObject: withFinalizers([], deleted) },
    patch: [],
  },
  {
    name: 'UPDATE where only the old object is deleting: nothing',
    request: { operation: 'UPDATE', object: withFinalizers(), oldObject: withFinalizers(undefined, deleted) },
    patch: [],
  },
  {
    name: 'UPDATE by the reconciler: nothing, it takes the finalizer off on purpose',
    request: { operation: 'UPDATE', object: withFinalizers(), userInfo: { username: reconcilerUser } },
    patch: [],
  },
  {
    name: 'DELETE: nothing, a patch would be an error',
    request: { operation: 'DELETE', object: null, oldObject: withFinalizers() },
    patch: [],
  },
  { name: 'CONNECT: nothing', request: { operation: 'CONNECT', object: withFinalizers() }, patch: [] },
];

describe('finalizer policy', () => {
  for (const { name, request, patch } of cases) {
    it(name, () => assert.deepEqual(patchFor(request), patch));
  }

  it('is not fooled by finalizers elsewhere in the object', () => {
    const template = { metadata: { finalizers: [FINALIZER] } };
    const object = { ...withFinalizers(), spec: { head: { pod: template }, metadata: template.metadata } };
    assert.deepEqual(patchFor({ object }), addList);
  });

  it('is not fooled by keys that JavaScript treats specially', () => {
    const body = JSON.stringify(aReview({ object: 0 })).replace(
      '"object":0',
      `"object":{"metadata":{"__proto__":{"finalizers":["${FINALIZER}"]},"constructor":{"finalizers":["${FINALIZER}"]}}}`,
    );
    const review = decodeReview(Buffer.from(body));
    assert.deepEqual(injectFinalizer(review, { reconcilerUser }).patch, addList);
  });
});
