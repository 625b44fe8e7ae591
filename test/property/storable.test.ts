// Whatever an object holds, a row can hold its stored form, and the object comes back from there to the letter.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asReceived, isStorable, isStoredAsText, storable } from '../../src/api/storable.ts';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { aModel } from '../support/objects.ts';

const LONG_KEY = 'k'.repeat(65_536);
const key = fc.oneof({ weight: 20, arbitrary: fc.string() }, fc.constantFrom('__proto__', 'constructor', LONG_KEY));
const leaf = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));

/** A way down through objects and lists, with something beside it on each level. */
const value = fc
  .tuple(fc.array(fc.tuple(fc.boolean(), key, leaf), { maxLength: 60, size: 'max' }), leaf)
  .map(([levels, last]) =>
    levels.reduceRight<JsonValue>(
      (child, [isList, name, beside]) =>
        isList
          ? [beside, child]
          : Object.fromEntries([
              ['a', beside],
              [name, child],
            ]),
      last,
    ),
  );

/** Walks without the stack. */
function depthOf(root: unknown): number {
  let depth = 0;
  for (let level = [root]; level.length > 0; depth += 1) {
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? (Object.values(each) as unknown[]) : [],
    );
  }
  return depth - 1;
}

describe('the stored form of an object', () => {
  it('is at most 30 levels deep, has no key that MySQL refuses, and tells the object whole', () => {
    fc.assert(
      fc.property(value, (input) => {
        const object = aModel({ labels: { team: 'a' } }, { input });
        const stored = storable(object);
        assert.ok(depthOf(stored) <= 30);
        assert.ok(isStorable(stored));
        assert.doesNotMatch(JSON.stringify(stored), /"k{65536}":/);
        assert.equal(isStoredAsText(stored), !isStorable(object));
        assert.equal(JSON.stringify(asReceived(stored as JsonObject)), JSON.stringify(object));
      }),
    );
  });

  it('is the object itself at 30 levels, and another one at 31', () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as JsonObject;
    const fits = aModel({}, nested(29));
    assert.equal(storable(fits), fits);
    const deep = storable(aModel({}, nested(30)));
    assert.deepEqual(deep.metadata.labels, { 'michelangelo/stored-as-text': 'true' });
    assert.match(JSON.stringify(deep), /\{"michelangelo\/json":"\{\\"a\\":\{\\"a\\":1\}\}"\}/);
  });

  it('keeps 9,990 levels, and numbers that no double holds, to the letter', () => {
    const text = `${'{"a":[0.5,-9223372036854775808,'.repeat(4995)}18446744073709551615${']}'.repeat(4995)}`;
    const object = aModel({}, { input: parseLossless(text) as JsonObject });
    const stored = JSON.stringify(storable(object));
    const last = /\{"michelangelo\/json":("(?:[^"\\]|\\.)*")\}/.exec(stored)?.[1] ?? assert.fail(stored.slice(0, 500));
    assert.ok(text.includes(JSON.parse(last) as string));
    assert.ok((JSON.parse(last) as string).length > text.length - 1000);
  });

  it('is the same for a mark that no part of the object needs', () => {
    const object = aModel({ labels: { 'michelangelo/stored-as-text': 'of a user' } }, { 'michelangelo/json': 1 });
    assert.equal(storable(object), object);
  });
});
