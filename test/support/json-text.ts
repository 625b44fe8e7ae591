// JSON text as any client may write it: any order of keys, any spacing, any escapes, keys that come twice.
import fc from 'fast-check';

const space = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\r\n');

/** The string as JSON; some characters are written as escapes that need not be. */
const stringText = (content: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(content, fc.array(fc.nat(9), { minLength: 1, maxLength: 8 })).map(([text, dice]) => {
    const escaped = Array.from(text, (character, index) => {
      if (dice[index % dice.length] !== 0 || character.length > 1) return JSON.stringify(character).slice(1, -1);
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    });
    return `"${escaped.join('')}"`;
  });

const objectText = (members: fc.Arbitrary<readonly (readonly [string, string])[]>): fc.Arbitrary<string> =>
  fc.tuple(members, space, space).map(([pairs, before, after]) => {
    const written = plainWhereTwice(pairs).map(([key, value]) => `${before}${key}${after}:${before}${value}${after}`);
    return `{${before}${written.join(',')}}`;
  });

/**
 * Keys that come twice are written without escapes: of two that differ in escapes only, V8's parser takes now the first
 * and now the last, so there is nothing to compare with.
 */
function plainWhereTwice(pairs: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const decoded = pairs.map(([key]) => JSON.parse(key) as string);
  return pairs.map(([key, value], index) => {
    const name = decoded[index] ?? '';
    return [decoded.filter((other) => other === name).length > 1 ? JSON.stringify(name) : key, value];
  });
}

const anyString = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('metadata', 'managedFields', 'metadata"', '"metadata":{', '\\', '\\"', '{"', ']}', 'ü', '😀'),
);

const valueText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(
      stringText(anyString),
      fc.constantFrom('null', 'true', 'false', '0', '-1.5e3', '12345678901234567890', '{}', '[]', '[ ]'),
    ),
    objectText(fc.array(fc.tuple(stringText(anyString), tie('value')), { maxLength: 4 })),
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([items, gap]) => `[${gap}${items.join(`${gap},`)}]`),
  ),
})).value;

const shuffled = (fields: readonly fc.Arbitrary<readonly [string, string]>[]): fc.Arbitrary<[string, string][]> =>
  fc.tuple(fc.tuple(...fields), fc.array(fc.nat(), { minLength: 20, maxLength: 20 })).map(([members, order]) =>
    members
      .map((member, index) => ({ member, rank: order[index % order.length] ?? 0 }))
      .sort((left, right) => left.rank - right.rank)
      .map(({ member: [key, value] }): [string, string] => [key, value]),
  );

const plain = (content: string): string => JSON.stringify(content);

/** Nearly always as it should be; else with a key in escapes, or with any value. */
const field = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<readonly [string, string]> =>
  fc.tuple(
    fc.oneof({ weight: 6, arbitrary: fc.constant(plain(name)) }, stringText(fc.constant(name))),
    fc.oneof({ weight: 20, arbitrary: value }, valueText),
  );

const word = fc.oneof(
  { weight: 20, arbitrary: fc.stringMatching(/^[a-z0-9-]{1,12}$/).map(plain) },
  stringText(anyString),
);

const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion'] as const;

const metadataText = objectText(
  shuffled([
    ...IDENTITY.map((name) => field(name, word)),
    field('managedFields', valueText),
    field('labels', valueText),
    field('annotations', valueText),
    field('finalizers', valueText),
    field('deletionTimestamp', word),
    fc.tuple(stringText(anyString), valueText),
  ])
    .chain((members) => fc.subarray(members, { minLength: members.length - 1 }))
    .chain((members) =>
      // Now and then one of them comes twice.
      fc.oneof(
        { weight: 4, arbitrary: fc.constant(members) },
        field('name', word).map((again) => [...members, again]),
        field('managedFields', valueText).map((again) => [again, ...members]),
        field('finalizers', valueText).map((again) => [...members, again]),
      ),
    ),
);

/** An object with metadata as a rule, and members that are called and look like it anywhere; also twice. */
export const anyObjectText: fc.Arbitrary<string> = objectText(
  shuffled([
    field('apiVersion', word),
    field('metadata', metadataText),
    field('spec', fc.oneof(valueText, metadataText)),
    fc.oneof(
      field('metadata', metadataText),
      field('status', fc.oneof(metadataText, objectText(field('metadata', metadataText).map((one) => [one])))),
      field('extra', valueText),
    ),
  ]),
);

/** As the API server writes it: no spacing, sorted keys, nothing escaped that need not be. */
export const plainObjectText: fc.Arbitrary<string> = fc
  .record({
    apiVersion: fc.constant('michelangelo.api/v2'),
    kind: fc.constant('Model'),
    metadata: fc.record({
      annotations: fc.dictionary(fc.string(), fc.string()),
      deletionTimestamp: fc.constant('2026-01-02T03:04:05Z'),
      finalizers: fc.array(fc.string(), { maxLength: 3 }),
      generation: fc.nat(),
      managedFields: fc.array(fc.record({ fieldsV1: fc.jsonValue(), manager: fc.string() }), { maxLength: 2 }),
      name: fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
      namespace: fc.stringMatching(/^[a-z0-9-]{1,20}$/),
      resourceVersion: fc.nat().map(String),
      uid: fc.uuid(),
    }),
    spec: fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant({ template: { metadata: { managedFields: [1], name: 'nested' } } }),
    ),
  })
  .map((object) => JSON.stringify(object));
