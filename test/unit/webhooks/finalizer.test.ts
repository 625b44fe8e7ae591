import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION } from '../../../src/api/names.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { reviewFinalizer } from '../../../webhooks/policies/finalizer.ts';
import { decodeReview } from '../../../webhooks/review.ts';
import { aRequest, aReview } from '../../support/review.ts';

const reconcilerUser = 'system:serviceaccount:ingester-system:ingester-reconciler';

function patchFor(request: JsonObject): readonly object[] {
  const review = decodeReview(Buffer.from(JSON.stringify(aReview(request))));
  return reviewFinalizer(review, { reconcilerUser }).patch;
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
    name: 'CREATE by the reconciler: adds the list as for any user',
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
    name: 'UPDATE of an object that a user opted out: nothing, a user may remove the finalizer by hand',
    request: { operation: 'UPDATE', object: withFinalizers([], { annotations: { [UNGUARDED_ANNOTATION]: 'true' } }) },
    patch: [],
  },
  {
    name: 'CREATE of an object that is opted out: adds the list all the same',
    request: { object: withFinalizers(undefined, { annotations: { [UNGUARDED_ANNOTATION]: 'true' } }) },
    patch: addList,
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

  describe('while the kind is not ingested', () => {
    const whileOff = (request: JsonObject): readonly object[] =>
      reviewFinalizer(aRequest(request), { reconcilerUser, isIngested: (kind) => kind !== 'Model' }).patch;

    it('a new object gets no finalizer, and none that had none gets it by an update', () => {
      assert.deepEqual(whileOff({ object: withFinalizers() }), []);
      assert.deepEqual(whileOff({ object: withFinalizers(['other/one']) }), []);
      const unguarded = withFinalizers(['other/one']);
      assert.deepEqual(whileOff({ operation: 'UPDATE', object: withFinalizers(), oldObject: unguarded }), []);
    });

    it('an update that drops the finalizer and a mark of a guarded object is put right as ever', () => {
      const annotations = { [IMMUTABLE_ANNOTATION]: 'true' };
      const oldObject = withFinalizers([FINALIZER], { annotations });
      assert.deepEqual(whileOff({ operation: 'UPDATE', object: withFinalizers(), oldObject }), [
        ...addList,
        { op: 'add', path: '/metadata/annotations', value: annotations },
      ]);
    });
  });

  describe('marks that an update loses', () => {
    const guarded = (annotations: JsonObject): JsonObject => withFinalizers([FINALIZER], { annotations });
    const deleting = { [DELETING_ANNOTATION]: 'true' };
    const both = { ...deleting, [IMMUTABLE_ANNOTATION]: 'true' };
    const answerTo = (object: JsonObject, oldObject: JsonObject): ReturnType<typeof reviewFinalizer> =>
      reviewFinalizer(aRequest({ operation: 'UPDATE', object, oldObject }), { reconcilerUser });
    const restore = (name: string): object => ({
      op: 'add',
      path: `/metadata/annotations/michelangelo~1${name}`,
      value: 'true',
    });

    it('come back when the update drops the finalizer too, as a full replacement does', () => {
      const { patch, warnings, auditAnnotations } = answerTo(withFinalizers(), guarded(both));
      assert.deepEqual(patch, [...addList, { op: 'add', path: '/metadata/annotations', value: both }]);
      assert.equal(warnings.length, 2);
      assert.match(warnings[0] ?? '', /michelangelo\/Deleting was kept.*"false"/);
      assert.equal(auditAnnotations['marks-kept'], 'michelangelo/Deleting,michelangelo/Immutable');
    });

    it('come back one by one beside other annotations', () => {
      const replaced = withFinalizers(undefined, { annotations: { 'example.com/a': 'b' } });
      assert.deepEqual(answerTo(replaced, guarded(both)).patch, [
        ...addList,
        restore('Deleting'),
        restore('Immutable'),
      ]);
    });

    const onPurpose: readonly { name: string; object: JsonObject; oldObject: JsonObject; patch: readonly object[] }[] =
      [
        {
          name: 'stay off when the update keeps the finalizer: who keeps it has read the object',
          object: guarded({}),
          oldObject: guarded(both),
          patch: [],
        },
        {
          name: 'stay off when they are given another value, whatever else the update drops',
          object: withFinalizers(undefined, { annotations: { [DELETING_ANNOTATION]: 'false' } }),
          oldObject: guarded(deleting),
          patch: addList,
        },
        {
          name: 'stay off when the old object had no finalizer to be dropped',
          object: withFinalizers(),
          oldObject: withFinalizers([], { annotations: both }),
          patch: addList,
        },
        {
          name: 'stay off when they did not say "true"',
          object: withFinalizers(),
          oldObject: guarded({ [DELETING_ANNOTATION]: 'True', [IMMUTABLE_ANNOTATION]: 'yes' }),
          patch: addList,
        },
        {
          name: 'are not touched on an object that is being deleted',
          object: withFinalizers(),
          oldObject: withFinalizers([FINALIZER], { annotations: both, ...deleted }),
          patch: [],
        },
      ];
    for (const { name, object, oldObject, patch } of onPurpose) {
      it(name, () => {
        const answer = answerTo(object, oldObject);
        assert.deepEqual(answer.patch, patch);
        assert.deepEqual(answer.warnings, []);
      });
    }
  });

  it('ignores finalizers elsewhere in the object', () => {
    const template = { metadata: { finalizers: [FINALIZER] } };
    const object = { ...withFinalizers(), spec: { head: { pod: template }, metadata: template.metadata } };
    assert.deepEqual(patchFor({ object }), addList);
  });

  it('ignores finalizers below keys that JavaScript treats specially', () => {
    const body = JSON.stringify(aReview({ object: 0 })).replace(
      '"object":0',
      `"object":{"metadata":{"__proto__":{"finalizers":["${FINALIZER}"]},"constructor":{"finalizers":["${FINALIZER}"]}}}`,
    );
    const review = decodeReview(Buffer.from(body));
    assert.deepEqual(reviewFinalizer(review, { reconcilerUser }).patch, addList);
  });
});
