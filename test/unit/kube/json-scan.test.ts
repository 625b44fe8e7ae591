import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { afterValue, splitEvent, splitList } from '../../../src/kube/http/json-scan.ts';

describe('afterValue', () => {
  const arrays: readonly (readonly [value: string, rest: string])[] = [
    ['[{"f:spec":{}}]', ',"name":1}'],
    ['[]', ',"name":1}'],
    ['[[1],[2]]', ',"name":1}'],
    ['[1]', '}],"name":1}'],
    ['[1]', ',2],"name":1}'],
    ['["],"]', ',"name":1}'],
    ['["],\\"a"]', ',"name":1}'],
    ['["]","name"]', ',"other":1}'],
    ['["a]",",b"]', ',"other":1}'],
    ['["[",1]', ',"name":1}'],
    ['[1]', ', "name":1}'],
    ['[1]', ',"1":1}'],
  ];
  for (const [value, rest] of arrays) {
    it(`finds the end of ${value} before ${rest}`, () => {
      assert.equal(afterValue(Buffer.from(value + rest), 0), value.length);
    });
  }
});

describe('splitList', () => {
  it('gives up on JSON that is not a list', () => {
    for (const text of ['', '[]', '{}', '{"items":{}}', '{"items":7}', 'plain text', '{"items":[],"items":[]}']) {
      assert.equal(splitList(Buffer.from(text)), undefined, text);
    }
  });

  it('takes null for an empty list, as the API server writes one of metadata', () => {
    const parts = splitList(Buffer.from('{"metadata":{"resourceVersion":"7"},"items":null}'));
    assert.deepEqual(parts, { envelope: '{"metadata":{"resourceVersion":"7"},"items":[]}', items: [] });
  });
});

describe('splitEvent', () => {
  it('separates type and object', () => {
    const event = splitEvent(Buffer.from('{"type":"ADDED","object":{"a":{"b":1}}}'));
    assert.deepEqual([event?.type, event?.object.toString()], ['ADDED', '{"a":{"b":1}}']);
  });

  it('gives up on any other line', () => {
    const lines = [
      '',
      '{}',
      'Internal error',
      '{"object":{},"type":"ADDED"}',
      '{"type":"ADDED","object":',
      '{"type":"ADDED","object":{}',
      '{"type":"ADDED","object":null}',
      '{"type":"ADDED"}}',
    ];
    for (const line of lines) assert.equal(splitEvent(Buffer.from(line)), undefined, line);
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
