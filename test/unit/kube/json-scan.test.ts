import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { splitEvent, splitList, withoutManagedFields } from '../../../src/kube/http/json-scan.ts';

type Json = Record<string, unknown>;
const parse = (text: string): Json => JSON.parse(text) as Json;
const stripped = (object: Json): Json => {
  const { metadata, ...rest } = object;
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return object;
  const { managedFields: _, ...kept } = metadata as Json;
  return { ...rest, metadata: kept };
};

describe('withoutManagedFields', () => {
  const cases = [
    '{"metadata":{"managedFields":[{"a":"}]"}],"name":"x"},"spec":{}}',
    '{"metadata":{"labels":{"a":"b"},"managedFields":[{"f":{"k:{\\"u\\":1}":{}}}]},"spec":{}}',
    '{"metadata":{"managedFields":[]},"spec":{}}',
    '{"metadata":{"name":"x"},"spec":{"template":{"metadata":{"managedFields":[1]}}}}',
    '{"spec":{"metadata":{"managedFields":[1]}},"metadata":{"managedFields":[2],"name":"y"}}',
    '{"kind":"a \\\\\\" \\"metadata\\":{","metadata":{"name":"\\\\","managedFields":[{"a":"\\\\"}],"z":1}}',
    '{}',
    '{"metadata":null}',
  ];
  for (const text of cases) {
    it(`takes only the object's own away: ${text.slice(0, 60)}`, () => {
      assert.deepEqual(parse(withoutManagedFields(text)), stripped(parse(text)));
    });
  }

  it('does so for any object, however it is written', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const object = fc.record({
      before: fc.dictionary(fc.string(), value),
      metadata: fc.dictionary(fc.constantFrom('managedFields', 'name', 'labels', 'a"b', 'c\\'), value),
      after: fc.dictionary(fc.string(), value),
      space: fc.constantFrom(undefined, 2),
    });
    fc.assert(
      fc.property(object, ({ before, metadata, after, space }) => {
        const text = JSON.stringify({ ...before, metadata, spec: after }, undefined, space);
        assert.deepEqual(parse(withoutManagedFields(text)), stripped(parse(text)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('splitList', () => {
  it('gives each item and the rest, for any items', () => {
    const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), { maxLength: 5 });
    fc.assert(
      fc.property(items, fc.constantFrom(undefined, 2), (list, space) => {
        const metadata = { resourceVersion: '7', continue: 'abc' };
        const text = JSON.stringify({ kind: 'ModelList', items: list, metadata }, undefined, space);
        const parts = splitList(text);
        assert.ok(parts !== undefined);
        assert.deepEqual(parts.items.map(parse), parse(JSON.stringify({ list }))['list']);
        assert.deepEqual(parse(parts.envelope), { kind: 'ModelList', items: [], metadata });
      }),
    );
  });

  it('gives up on what is no list', () => {
    for (const text of ['', '[]', '{}', '{"items":{}}', '{"items":null}', 'plain text']) {
      assert.equal(splitList(text), undefined);
    }
  });
});

describe('splitEvent', () => {
  it('separates type and object', () => {
    assert.deepEqual(splitEvent('{"type":"ADDED","object":{"a":{"b":1}}}'), { type: 'ADDED', object: '{"a":{"b":1}}' });
    for (const line of ['', '{}', '{"object":{},"type":"ADDED"}', '{"type":"ADDED","object":']) {
      assert.equal(splitEvent(line), undefined, line);
    }
  });
});

describe('parseLossless', () => {
  it('keeps the digits of integers that a double would round', () => {
    const text = '{"a":9007199254740993,"b":[-12345678901234567890],"c":1.5,"d":"1234567890123456789","e":{}}';
    assert.equal(JSON.stringify(parseLossless(text)), text);
  });

  it('gives ordinary numbers for what fits', () => {
    assert.deepEqual(parseLossless('{"a":9007199254740991,"b":0.1234567890123456789}'), {
      a: 9_007_199_254_740_991,
      b: 0.123_456_789_012_345_68,
    });
  });
});
