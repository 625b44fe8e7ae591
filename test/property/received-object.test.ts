// Objects that are read out of bytes without a parser are exactly what a parser makes of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Marks } from '../../src/api/object.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { splitList } from '../../src/kube/http/json-scan.ts';
import { readLazily, readWhole } from '../../src/kube/http/received-object.ts';
import { compact, passingMarks, receivedBytes } from '../../src/kube/lazy-object.ts';
import { anyObjectText, plainObjectText } from '../support/json-text.ts';

/** What a parser makes of it, without the object's own managedFields. */
function expected(text: string): unknown {
  const object = parseLossless(text);
  if (!isJsonObject(object) || !isJsonObject(object['metadata'])) return object;
  const { managedFields: _, ...metadata } = object['metadata'];
  return { ...object, metadata };
}

const anyText = fc.oneof(anyObjectText, plainObjectText);
const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion'] as const;

describe('an object read out of bytes', () => {
  it('has the identity that a parser finds, before anything is parsed', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { metadata } = readLazily(Buffer.from(text));
        const parsed = (expected(text) as { metadata?: Record<string, unknown> }).metadata;
        if (!isJsonObject(parsed)) return;
        assert.deepEqual(
          IDENTITY.map((key) => metadata[key]),
          IDENTITY.map((key) => parsed[key]),
        );
      }),
      { numRuns: 3000 },
    );
  });

  const metadata = (name: string): string => `{"name":"${name}","uid":"u","resourceVersion":"1"}`;
  const twice = [
    `{"metadata":${metadata('a')},"spec":{},"metadata":${metadata('b')}}`,
    `{"metadata":${metadata('a')},"met\\u0061data":${metadata('b')}}`,
    `{"met\\u0061data":${metadata('a')},"metadata":${metadata('b')}}`,
    `{"metadata":{"name":"a","n\\u0061me":"b","uid":"u","resourceVersion":"1"}}`,
    `{"metadata":${metadata('a')},"metadata" : null}`,
    `{"spec":{"metadata":${metadata('a')}},"metadata":${metadata('b')},"status":{"metadata":${metadata('c')}}}`,
  ];
  for (const text of twice) {
    it(`has the metadata that a parser finds: ${text}`, () => {
      const object = readLazily(Buffer.from(text));
      const wanted = JSON.parse(text) as { metadata?: { name: string } };
      assert.equal((object as typeof wanted).metadata?.name, wanted.metadata?.name);
      assert.deepEqual(object, wanted);
    });
  }

  it('can be given to a promise without being parsed', async () => {
    const object = readLazily(Buffer.from(`{"metadata":${metadata('a')},"spec":no json}`));
    assert.equal((await Promise.resolve(object)).metadata.name, 'a');
    assert.throws(() => object['spec']);
  });

  it('equals what a parser makes of the bytes, whether it is copied, printed or read key by key', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const object = readLazily(Buffer.from(text));
        const wanted = expected(text) as Record<string, unknown>;
        assert.equal(JSON.stringify(object), JSON.stringify(wanted));
        assert.deepEqual({ ...object }, wanted);
        assert.deepEqual(object, wanted);
        assert.deepEqual(Object.keys(object), Object.keys(wanted));
        for (const key of Object.keys(wanted)) assert.ok(key in object && Object.hasOwn(object, key));
        assert.deepEqual(readWhole(Buffer.from(text)), wanted);
        // The metadata alone, before the rest was read.
        const { metadata } = readLazily(Buffer.from(text));
        assert.deepEqual({ ...metadata }, { ...(wanted['metadata'] as object) });
      }),
      { numRuns: 3000 },
    );
  });

  it('has the marks that a parser finds, without its other metadata being parsed', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const marksOf = ({ annotations, finalizers, deletionTimestamp }: Marks): Marks => ({
          annotations,
          finalizers,
          deletionTimestamp,
        });
        const { metadata: wanted } = expected(text) as { metadata?: Marks };
        if (!isJsonObject(wanted)) return;
        const [fresh, compacted, read] = [0, 1, 2].map(() => readLazily(Buffer.from(text)));
        assert.ok(fresh !== undefined && compacted !== undefined && read !== undefined);
        compact(compacted);
        assert.equal(JSON.stringify(read['spec']), JSON.stringify((expected(text) as JsonObject)['spec']));
        for (const object of [fresh, compacted, read]) assert.deepEqual(marksOf(passingMarks(object)), marksOf(wanted));
      }),
      { numRuns: 3000 },
    );
    const broken = `{"metadata":{"labels":nojson,"finalizers":["f"],"name":"a","uid":"u","resourceVersion":"1"}}`;
    assert.deepEqual(passingMarks(readLazily(Buffer.from(broken))), { finalizers: ['f'] });
  });

  it('is the same object once it keeps its memory for itself, in no more bytes than before', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const wanted = expected(text) as Record<string, unknown>;
        const [object, read] = [readLazily(Buffer.from(text)), readLazily(Buffer.from(text))];
        const before = receivedBytes(object);
        compact(object);
        assert.ok((receivedBytes(object) ?? 0) <= (before ?? 0));
        assert.deepEqual({ ...object.metadata }, { ...(wanted['metadata'] as object) });
        assert.equal(JSON.stringify(object), JSON.stringify(wanted));
        // Also after it was read.
        assert.deepEqual({ ...read.metadata }, { ...(wanted['metadata'] as object) });
        compact(read);
        compact(read);
        assert.deepEqual(read, wanted);
      }),
      { numRuns: 3000 },
    );
  });

  it('keeps neither the bytes it came with nor managedFields when it keeps its memory for itself', () => {
    const fields = '"managedFields":[{"manager":"m"}],';
    const text = `{"metadata":{${fields}"name":"a","uid":"u","resourceVersion":"1"},"spec":{"a":1}}`;
    const bytes = Buffer.from(text);
    const object = readLazily(bytes);
    compact(object);
    bytes.fill('!');
    assert.deepEqual(object['spec'], { a: 1 });
    assert.equal(receivedBytes(object), text.length - fields.length);
  });

  it('is not parsed for its identity when the API server wrote it', () => {
    fc.assert(
      fc.property(plainObjectText, (text) => {
        const bytes = Buffer.from(text);
        const { metadata } = readLazily(bytes);
        // What is broken afterwards is noticed by a parser, so none has been there.
        bytes.fill('!');
        assert.ok(IDENTITY.every((key) => typeof metadata[key] === 'string'));
        assert.throws(() => metadata.labels, SyntaxError);
      }),
    );
  });

  it('cannot be changed', () => {
    const object = readLazily(Buffer.from('{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{}}'));
    const writable = object as unknown as Record<string, unknown> & { metadata: Record<string, unknown> };
    for (const change of [
      () => (writable['spec'] = 1),
      () => delete writable['spec'],
      () => (writable.metadata['name'] = 'b'),
      () => Object.defineProperty(writable, 'spec', { value: 1 }),
      () => Object.setPrototypeOf(writable, null) as unknown,
      () => Object.freeze(writable),
    ]) {
      assert.throws(change, TypeError);
    }
    assert.deepEqual(object, { metadata: { name: 'a', uid: 'u', resourceVersion: '1' }, spec: {} });
  });
});

describe('a list taken apart', () => {
  it('gives each item and the rest of the list, for any items and any way of writing them', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 5 }), fc.constantFrom('', ' ', '\n  '), (items, gap) => {
        const metadata = `{"resourceVersion":"7","continue":"abc"}`;
        const text = `{"kind":"ModelList",${gap}"items":[${gap}${items.join(`${gap},${gap}`)}${gap}],"metadata":${metadata}}`;
        const parts = splitList(Buffer.from(text));
        assert.ok(parts !== undefined);
        assert.deepEqual(
          parts.items.map((item) => item.toString()),
          items,
        );
        assert.deepEqual(JSON.parse(parts.envelope), {
          kind: 'ModelList',
          items: [],
          metadata: { resourceVersion: '7', continue: 'abc' },
        });
      }),
      { numRuns: 500 },
    );
  });
});
