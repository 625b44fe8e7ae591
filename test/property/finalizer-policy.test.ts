import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { reviewFinalizer } from '../../webhooks/policies/finalizer.ts';
import { decodeReview, encodeAllowed } from '../../webhooks/review.ts';
import { applyJsonPatch } from '../support/apply-json-patch.ts';
import { aRequest, aReview } from '../support/review.ts';

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

function patched(object: JsonObject, operation: string, oldObject?: JsonObject): JsonObject {
  const review = aReview({ object, operation, ...(oldObject === undefined ? {} : { oldObject }) });
  const request = decodeReview(Buffer.from(JSON.stringify(review)));
  const { patch } = reviewFinalizer(request, options);
  return patch.length === 0 ? object : applyJsonPatch(object, patch);
}

describe('finalizer policy, for any object', () => {
  it('adds one finalizer and changes nothing else', () => {
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

  it('changes nothing when it is applied a second time', () => {
    fc.assert(
      fc.property(objects, (generated) => {
        const once = patched(JSON.parse(JSON.stringify(generated)) as JsonObject, 'CREATE');
        assert.deepEqual(patched(once, 'CREATE'), once);
      }),
    );
  });

  const deletingFrom = (object: JsonObject): JsonObject => ({
    ...object,
    metadata: { ...(object['metadata'] as JsonObject), deletionTimestamp: 'now' },
  });

  it('leaves objects alone that are stored as being deleted', () => {
    fc.assert(
      fc.property(objects, (generated) => {
        const object = JSON.parse(JSON.stringify(generated)) as JsonObject;
        assert.deepEqual(patched(object, 'UPDATE', deletingFrom(object)), object);
      }),
    );
  });

  it('guards objects of which only the client says that they are being deleted', () => {
    fc.assert(
      fc.property(objects, fc.constantFrom('CREATE', 'UPDATE'), (generated, operation) => {
        const object = deletingFrom(JSON.parse(JSON.stringify(generated)) as JsonObject);
        const stored = operation === 'UPDATE' ? { metadata: {} } : undefined;
        const list = valueAt(patched(object, operation, stored), ['metadata', 'finalizers']);
        assert.ok(Array.isArray(list) && list.includes(FINALIZER));
      }),
    );
  });
});

const annotations = fc.dictionary(
  fc.constantFrom(DELETING_ANNOTATION, IMMUTABLE_ANNOTATION, 'example.com/a'),
  fc.constantFrom('true', 'false', ''),
  { noNullPrototype: true },
);
const someFinalizers = fc.array(fc.constantFrom(FINALIZER, 'example.com/x'), { maxLength: 2 });
const metadataOf = fc.record(
  { annotations, finalizers: someFinalizers },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<{ annotations?: Record<string, string>; finalizers?: string[] }>;

describe('marks, for any update of a live object', () => {
  it('come back exactly when a guarded object loses mark and finalizer together, and nothing else changes', () => {
    fc.assert(
      fc.property(metadataOf, metadataOf, (before, after) => {
        const object = { metadata: { name: 'a', ...after } } as JsonObject;
        const request = aRequest({ operation: 'UPDATE', object, oldObject: { metadata: { name: 'a', ...before } } });
        const { patch, warnings } = reviewFinalizer(request, options);
        const result = patch.length === 0 ? object : applyJsonPatch(object, patch);
        const lost = [DELETING_ANNOTATION, IMMUTABLE_ANNOTATION].filter(
          (mark) =>
            before.finalizers?.includes(FINALIZER) === true &&
            after.finalizers?.includes(FINALIZER) !== true &&
            before.annotations?.[mark] === 'true' &&
            after.annotations?.[mark] === undefined,
        );
        const kept = Object.fromEntries(lost.map((mark) => [mark, 'true']));
        assert.deepEqual(valueAt(result, ['metadata', 'annotations']) ?? {}, { ...after.annotations, ...kept });
        assert.equal(warnings.length, lost.length);
        const guarded = valueAt(result, ['metadata', 'finalizers']);
        assert.ok(Array.isArray(guarded) && guarded.includes(FINALIZER));
      }),
      { numRuns: 1000 },
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
          const answer = encodeAllowed(request.uid, reviewFinalizer(request, options));
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
