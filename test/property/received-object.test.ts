// Objects that are read out of bytes without a parser are exactly what a parser makes of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Identity, type KubernetesObject, type Marks, objectKey } from '../../src/api/object.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { splitList } from '../../src/kube/http/json-scan.ts';
import { readReceived, readWhole } from '../../src/kube/http/received-object.ts';
import { anyObjectText, plainObjectText } from '../support/json-text.ts';

/** What a parser makes of it, without the object's own managedFields. */
function expected(text: string): unknown {
  const object = parseLossless(text);
  if (!isJsonObject(object) || !isJsonObject(object['metadata'])) return object;
  const { managedFields: _, ...metadata } = object['metadata'];
  return { ...object, metadata };
}

/** Whether the object has no key, for want of metadata or of names that are text: no API server sends one. */
function isRefused(text: string): boolean {
  try {
    objectKey(expected(text) as KubernetesObject);
    return false;
  } catch {
    assert.throws(() => readReceived(Buffer.from(text)), TypeError);
    return true;
  }
}

const anyText = fc.oneof(anyObjectText, plainObjectText);
const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion'] as const;

describe('an object read out of bytes', () => {
  it('has the identity that a parser finds, before anything is parsed', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { metadata: parsed } = expected(text) as { metadata?: Identity };
        if (!isJsonObject(parsed) || isRefused(text)) return;
        const { identity, key } = readReceived(Buffer.from(text));
        assert.deepEqual(
          IDENTITY.map((field) => identity[field]),
          IDENTITY.map((field) => parsed[field]),
        );
        assert.equal(key, objectKey({ metadata: parsed }));
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
      const wanted = JSON.parse(text) as { metadata: { name: string } | null };
      assert.deepEqual(readWhole(Buffer.from(text)), wanted);
      if (isRefused(text)) return;
      const object = readReceived(Buffer.from(text));
      assert.equal(object.identity.name, wanted.metadata?.name);
      assert.deepEqual(object.parse(), wanted);
    });
  }

  it('is not parsed before it is asked for', () => {
    const object = readReceived(Buffer.from(`{"metadata":${metadata('a')},"spec":no json}`));
    assert.equal(object.identity.name, 'a');
    assert.throws(() => object.parse(), SyntaxError);
  });

  it('is, once parsed, what a parser makes of the bytes', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const wanted = expected(text);
        assert.deepEqual(readWhole(Buffer.from(text)), wanted);
        if (isRefused(text)) return;
        const object = readReceived(Buffer.from(text));
        assert.equal(JSON.stringify(object.parse()), JSON.stringify(wanted));
        assert.deepEqual(object.parse(), wanted);
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
        if (!isJsonObject(wanted) || isRefused(text)) return;
        const [fresh, compacted, read] = [0, 1, 2].map(() => readReceived(Buffer.from(text)));
        assert.ok(fresh !== undefined && compacted !== undefined && read !== undefined);
        compacted.compact();
        assert.equal(JSON.stringify(read.parse()['spec']), JSON.stringify((expected(text) as JsonObject)['spec']));
        for (const object of [fresh, compacted, read]) assert.deepEqual(marksOf(object.marks()), marksOf(wanted));
      }),
      { numRuns: 3000 },
    );
    const broken = `{"metadata":{"labels":nojson,"finalizers":["f"],"name":"a","uid":"u","resourceVersion":"1"}}`;
    assert.deepEqual(readReceived(Buffer.from(broken)).marks(), { finalizers: ['f'] });
  });

  it('is the same object once it keeps its memory for itself, in no more bytes than before', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const wanted = expected(text);
        if (isRefused(text)) return;
        const [object, read] = [readReceived(Buffer.from(text)), readReceived(Buffer.from(text))];
        const before = object.bytes;
        object.compact();
        assert.ok((object.bytes ?? 0) <= (before ?? 0));
        assert.deepEqual(object.parse(), wanted);
        assert.equal(JSON.stringify(object.parse()), JSON.stringify(wanted));
        // Also after it was read.
        assert.deepEqual(read.parse(), wanted);
        read.compact();
        read.compact();
        assert.deepEqual(read.parse(), wanted);
      }),
      { numRuns: 3000 },
    );
  });

  it('keeps neither the bytes it came with nor managedFields when it keeps its memory for itself', () => {
    const fields = '"managedFields":[{"manager":"m"}],';
    const text = `{"metadata":{${fields}"name":"a","uid":"u","resourceVersion":"1"},"spec":{"a":1}}`;
    const bytes = Buffer.from(text);
    const object = readReceived(bytes);
    object.compact();
    bytes.fill('!');
    assert.deepEqual(object.parse()['spec'], { a: 1 });
    assert.equal(object.bytes, text.length - fields.length);
  });

  it('is not parsed for its identity when the API server wrote it', () => {
    fc.assert(
      fc.property(plainObjectText, (text) => {
        const bytes = Buffer.from(text);
        const object = readReceived(bytes);
        // What is broken afterwards is noticed by a parser, so none has been there.
        bytes.fill('!');
        assert.ok(IDENTITY.every((key) => typeof object.identity[key] === 'string'));
        assert.throws(() => object.parse(), SyntaxError);
      }),
    );
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
