import { deepStrictEqual, ok } from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { decodeObject } from '../../src/proto/decode.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { ProtoDecodingError, ProtoEncodingError } from '../../src/proto/errors.ts';
import { kinds, messages } from '../../src/proto/generated/descriptors.ts';
import { anyJson, arbitraryObject } from '../unit/proto/arbitrary-object.ts';

const kind = fc.constantFrom(...kinds);
const rightObjects = new Map(kinds.map((name) => [name, arbitraryObject(name)]));
const wrongObjects = new Map(kinds.map((name) => [name, arbitraryObject(name, { wrongPercent: 10 })]));

function objectOf(objects: ReadonlyMap<string, fc.Arbitrary<JsonObject>>): fc.Arbitrary<readonly [string, JsonObject]> {
  return kind.chain((name) => objects.get(name)!.map((object) => [name, object] as const));
}

/** Puts a member that no definition knows into every message of the object. */
function withUnknownFields(name: string, object: JsonObject, value: JsonValue): JsonObject {
  const members: [string, JsonValue | undefined][] = Object.entries(object);
  for (const member of members) {
    const field = messages[name]?.find((candidate) => candidate.name === member[0]);
    if (field?.type !== 'message') continue;
    const of = field.of;
    // Structs and opaque objects are all known; Any and times are not objects of free fields.
    if (!of.startsWith('michelangelo.')) continue;
    const inside = (item: JsonValue | undefined): JsonValue =>
      isJsonObject(item) ? withUnknownFields(of, item, value) : (item ?? null);
    if (field.label === 'repeated') member[1] = (member[1] as JsonValue[]).map(inside);
    else if (field.label === 'map') {
      member[1] = Object.fromEntries(Object.entries(member[1] as JsonObject).map(([key, item]) => [key, inside(item)]));
    } else member[1] = inside(member[1]);
  }
  return Object.fromEntries([...members, ['unknownToEveryDefinition', value]]);
}

describe('protobuf codec', () => {
  it('gives back every object it encoded', () => {
    fc.assert(
      fc.property(objectOf(rightObjects), ([name, object]) => {
        deepStrictEqual(decodeObject(name, encodeObject(name, object)), object);
      }),
      { numRuns: 500 },
    );
  });

  it('writes the same bytes whatever unknown fields an object has', () => {
    fc.assert(
      fc.property(objectOf(rightObjects), anyJson, ([name, object], value) => {
        const more = withUnknownFields(`michelangelo.api.v2.${name}`, object, value);
        deepStrictEqual(
          encodeObject(name, more, () => undefined),
          encodeObject(name, object),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('fails on wrong values with its own error and no other', () => {
    let refused = 0;
    const encodesOrRefuses = (name: string, object: JsonObject): void => {
      try {
        decodeObject(name, encodeObject(name, object));
      } catch (error) {
        if (!(error instanceof ProtoEncodingError)) throw error;
        refused += 1;
      }
    };
    fc.assert(
      fc.property(objectOf(wrongObjects), ([name, object]) => {
        encodesOrRefuses(name, object);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(kind, anyJson, (name, value) => {
        encodesOrRefuses(name, value as JsonObject);
      }),
    );
    ok(refused > 0, 'the test made no wrong value at all');
  });

  it('reads damaged bytes or fails with its own error', () => {
    const damage = fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.nat());
    fc.assert(
      fc.property(objectOf(rightObjects), damage, ([name, object], [at, byte, cut]) => {
        const bytes = encodeObject(name, object);
        bytes[at % bytes.length] = byte;
        try {
          decodeObject(name, bytes.subarray(0, bytes.length - (cut % 3 === 0 ? cut % bytes.length : 0)));
        } catch (error) {
          if (!(error instanceof ProtoDecodingError)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
