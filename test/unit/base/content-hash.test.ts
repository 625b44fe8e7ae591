import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { contentHash, sha256Hex } from '../../../src/base/hash.ts';
import { canonicalJson, isJsonObject } from '../../../src/base/json.ts';
import { parseLossless } from '../../../src/base/lossless-json.ts';

/** By definition: everything is taken apart and put together in order. */
function sortedCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedCopy);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, nested]) => [key, sortedCopy(nested)]));
}

const anyJson = fc.jsonValue({ maxDepth: 5 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

describe('contentHash', () => {
  it('is the hash of the JSON with sorted keys, whatever order the keys have and whether the text is given', () => {
    fc.assert(
      fc.property(anyJson, fc.boolean(), (value, sorted) => {
        const given = sorted ? sortedCopy(value) : value;
        const wanted = JSON.stringify(sortedCopy(value));
        assert.equal(canonicalJson(given), wanted);
        assert.equal(contentHash(given), sha256Hex(wanted));
        assert.equal(contentHash(given, JSON.stringify(given)), sha256Hex(wanted));
      }),
      { numRuns: 2000 },
    );
  });

  it('tells large numbers apart that a double does not', () => {
    const hashes = ['9007199254740993', '9007199254740992'].map((n) => contentHash(parseLossless(`{"a":${n}}`)));
    assert.notEqual(hashes[0], hashes[1]);
  });

  it('is the same for keys that look like numbers', () => {
    assert.equal(contentHash({ 10: 'a', 9: 'b', c: 1 }), contentHash({ c: 1, 9: 'b', 10: 'a' }));
  });
});
