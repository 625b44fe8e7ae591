import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FINALIZER } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { injectFinalizer } from '../../webhooks/policies/finalizer.ts';
import { decodeReview, encodeAllowed } from '../../webhooks/review.ts';
import { applyJsonPatch } from '../support/apply-json-patch.ts';
import { aReview } from '../support/review.ts';

const options = { reconcilerUser: 'reconciler' };
const anyJson = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonObject[string]>;
const finalizers = fc.oneof(
  fc.constant(undefined),
  fc.constant(null),
  fc.array(fc.constantFrom(FINALIZER, 'foregroundDeletion', 'example.com/x'), { maxLength: 4 }),
);

/** Objects as the API server sends them: always with metadata, everything else free. */
const objects: fc.Arbitrary<JsonObject> = fc
  .record({ metadata: fc.dictionary(fc.string(), anyJson), body: fc.dictionary(fc.string(), anyJson), finalizers })
  .map(({ metadata, body, finalizers: list }) => ({
    ...body,
    metadata: { ...without(metadata), ...(list === undefined ? {} : { finalizers: list }) },
  }));

function without(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => !['finalizers', 'deletionTimestamp'].includes(key)),
  );
}

function patched(object: JsonObject, operation: string): JsonObject {
  const request = decodeReview(Buffer.from(JSON.stringify(aReview({ object, operation }))));
  const { patch } = injectFinalizer(request, options);
  return patch.length === 0 ? object : applyJsonPatch(object, patch);
}

describe('finalizer policy, for any object', () => {
  it('adds one element and changes nothing else', () => {
    fc.assert(
      fc.property(objects, fc.constantFrom('CREATE', 'UPDATE'), (generated, operation) => {
        const object = JSON.parse(JSON.stringify(generated)) as JsonObject;
        const result = patched(object, operation);
        const before = valueAt(object, ['metadata', 'finalizers']) ?? [];
        assert.ok(Array.isArray(before));
        const expected = before.includes(FINALIZER) ? before : [...(before as string[]), FINALIZER];
        const metadata = { ...(object['metadata'] as JsonObject), finalizers: expected };
        assert.deepEqual(result, { ...object, metadata });
      }),
    );
  });

  it('does nothing the second time', () => {
    fc.assert(
      fc.property(objects, (generated) => {
        const once = patched(JSON.parse(JSON.stringify(generated)) as JsonObject, 'CREATE');
        assert.deepEqual(patched(once, 'CREATE'), once);
      }),
    );
  });

  it('leaves objects that are being deleted alone', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const deleting = { ...object, metadata: { ...(object['metadata'] as JsonObject), deletionTimestamp: 'now' } };
        assert.deepEqual(patched(deleting, 'UPDATE'), deleting);
      }),
    );
  });
});

describe('the review codec, for any body', () => {
  it('either gives a request with a uid or refuses; it never throws anything else', () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      anyJson.map((value) => Buffer.from(JSON.stringify(value))),
      fc.dictionary(fc.string(), anyJson).map((request) => Buffer.from(JSON.stringify(aReview(request)))),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          const request = decodeReview(body);
          const answer = encodeAllowed(request.uid, injectFinalizer(request, options));
          assert.equal(valueAt(answer, ['response', 'uid']), request.uid);
          const response = answer['response'];
          assert.ok(isJsonObject(response));
          assert.equal('patch' in response, 'patchType' in response);
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'REVIEW_INVALID', String(error));
        }
      }),
      { numRuns: 500 },
    );
  });
});
