import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { VersionIndex } from '../../../src/sync/startup/version-index.ts';

const version = fc.oneof(
  fc.constantFrom('0', '1', '01', '4294967295', '4294967296', '9007199254740991', '9007199254740992', ''),
  fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String),
  fc.integer({ min: 1, max: 9 }).map(String),
);
const uid = fc.oneof(
  fc.uuid(),
  // The same first and last words, so the same slot.
  fc.integer({ min: 0, max: 9 }).map((digit) => `00000001-000${digit}-4000-8000-000000000001`),
  fc.uuid().map((text) => text.toUpperCase()),
  fc.constantFrom('', 'a', '00000000-0000-0000-0000-000000000000'),
);

describe('VersionIndex', () => {
  it('knows for each uid the version that was set, and no other', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(uid, version), { maxLength: 100, selector: ([key]) => key }),
        version,
        (pairs, other) => {
          const index = new VersionIndex();
          const expected = new Map(pairs);
          for (const [key, value] of pairs) index.set(key, value);
          for (const [key, value] of expected) {
            assert.equal(index.has(key, value), true, `${key} ${value}`);
            assert.equal(index.has(key, other), other === value, `${key} ${other}`);
          }
        },
      ),
    );
  });

  it('knows all of ten thousand uids, and none that was not set', () => {
    const index = new VersionIndex();
    const uidOf = (number: number): string => `${number.toString(16).padStart(8, '0')}-0000-4000-8000-00000000cafe`;
    for (let number = 0; number < 10_000; number += 1) index.set(uidOf(number), String(number + 1));
    for (let number = 0; number < 10_000; number += 1) {
      assert.equal(index.has(uidOf(number), String(number + 1)), true);
      assert.equal(index.has(uidOf(number), String(number + 2)), false);
      assert.equal(index.has(uidOf(number + 10_000), String(number + 1)), false);
    }
  });
});
