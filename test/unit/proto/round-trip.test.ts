import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDefinitions } from '../../../hack/generate/proto/parse.ts';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { kinds } from '../../../src/proto/generated/descriptors.ts';
import { everyFieldOf, reachableFields } from './every-field.ts';

const definitions = await parseDefinitions();

describe('protobuf round trip', () => {
  it('covers the 13 kinds and CachedOutput', () => {
    strictEqual(kinds.length, 14);
  });

  for (const kind of kinds) {
    it(`keeps every field of ${kind}`, () => {
      const { objects, filled } = everyFieldOf(kind);
      deepStrictEqual(
        [...reachableFields(kind)].filter((field) => !filled.has(field)),
        [],
      );
      for (const object of objects) deepStrictEqual(decodeObject(kind, encodeObject(kind, object)), object);
    });

    it(`writes ${kind} so that another protobuf implementation reads and writes all of it`, () => {
      const type = definitions.lookupType(`michelangelo.api.v2.${kind}`);
      for (const object of everyFieldOf(kind).objects) {
        const message = type.decode(encodeObject(kind, object));
        // What it does not know it drops, so that nothing comes back that it has not read.
        deepStrictEqual(decodeObject(kind, type.encode(message).finish()), object);
      }
    });
  }
});
