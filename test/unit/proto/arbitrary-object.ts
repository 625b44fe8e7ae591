// Random objects of a kind, made from the descriptors, in the form that decoding gives: no zero values, no empty lists.
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import { enums, messages } from '../../../src/proto/generated/descriptors.ts';

/** Messages are not nested deeper than this: enough for every message of every kind, except for endless recursion. */
const MAX_NESTING = 9;

export interface ArbitraryOptions {
  /** How often a field holds any JSON instead of a value of its type, in percent. */
  readonly wrongPercent?: number;
}

/** Names that objects of JavaScript have a meaning for are keys like any other. */
const key = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'a.b/c'),
);
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
);

/** JSON as a parser gives it: plain prototypes, no minus zero in text. */
export const anyJson: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
const anyObject = fc.dictionary(key, anyJson, { maxKeys: 4, noNullPrototype: true });

const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }).filter((value) => value !== 0);
const time = fc.tuple(seconds, fc.constantFrom('', '.5', '.000000001', '.123456789')).map(([value, fraction]) => {
  return `${new Date(value * 1000).toISOString().slice(0, 19)}${fraction}Z`;
});

const special: Readonly<Record<string, fc.Arbitrary<JsonValue>>> = {
  'google.protobuf.Timestamp': time,
  'google.protobuf.Duration': fc.integer({ min: -1e9, max: 1e9 }).map((value) => `${value}.25s`),
  'google.protobuf.Struct': anyObject,
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': time,
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': anyObject,
  'k8s.io.apimachinery.pkg.api.resource.Quantity': fc.constantFrom('0', '1', '500m', '2Gi', '-1.5', '1e3'),
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': fc.oneof(
    fc.integer(),
    fc.string({ unit: 'binary', maxLength: 5 }),
  ),
};

export function arbitraryObject(kind: string, options: ArbitraryOptions = {}): fc.Arbitrary<JsonObject> {
  const build = messageBuilder(options);
  return build(`michelangelo.api.v2.${kind}`, 0).map(({ typeMeta, metadata, ...rest }) => ({
    ...(typeMeta as JsonObject | undefined),
    ...(metadata === undefined ? {} : { metadata: withNumbers(metadata) }),
    ...rest,
  }));
}

/** In object metadata a 64-bit number is a number. */
function withNumbers(metadata: JsonValue): JsonValue {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return metadata;
  const numbers = ['generation', 'deletionGracePeriodSeconds'].filter((name) => typeof metadata[name] === 'string');
  return {
    ...metadata,
    ...Object.fromEntries(numbers.map((name) => [name, Math.trunc(Number(metadata[name]) / 4096) || 1])),
  };
}

type Build = (name: string, depth: number) => fc.Arbitrary<JsonObject>;

function messageBuilder(options: ArbitraryOptions): Build {
  const built = new Map<string, fc.Arbitrary<JsonObject>>();
  const build: Build = (name, depth) => {
    const id = `${name} ${depth}`;
    const known = built.get(id);
    if (known !== undefined) return known;
    const fields = (messages[name] ?? []).filter((field) => depth < MAX_NESTING || field.type !== 'message');
    const [alone, members] = [fields.filter(({ oneof }) => !oneof), fields.filter(({ oneof }) => oneof)];
    const parts = [record(alone, (field) => labelled(field, build, depth, options))];
    for (const group of Map.groupBy(members, ({ oneof }) => oneof).values()) {
      parts.push(fc.oneof(...group.map((field) => record([field], () => labelled(field, build, depth, options)))));
    }
    const message = fc.tuple(...parts).map((objects) => Object.assign({}, ...objects) as JsonObject);
    built.set(id, message);
    return message;
  };
  return build;
}

/** Each field is there or not; a message with many fields has few of them, or objects would explode. */
function record(
  fields: readonly FieldDescriptor[],
  of: (field: FieldDescriptor) => fc.Arbitrary<JsonValue>,
): fc.Arbitrary<JsonObject> {
  if (fields.length === 0) return fc.constant({});
  return fc
    .subarray([...fields], { minLength: Math.min(fields.length, 2), maxLength: Math.min(fields.length, 4) })
    .chain((chosen) =>
      fc.record(Object.fromEntries(chosen.map((field) => [field.name, of(field)])), { noNullPrototype: true }),
    );
}

function labelled(
  field: FieldDescriptor,
  build: Build,
  depth: number,
  { wrongPercent = 0 }: ArbitraryOptions,
): fc.Arbitrary<JsonValue> {
  const value = valueOf(field, build, depth);
  let right: fc.Arbitrary<JsonValue> = value;
  if (field.label === 'repeated') right = fc.array(value, { minLength: 1, maxLength: 3 });
  else if (field.label === 'map') right = fc.dictionary(key, value, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  if (wrongPercent === 0) return right;
  return fc.oneof({ weight: 100 - wrongPercent, arbitrary: right }, { weight: wrongPercent, arbitrary: anyJson });
}

function valueOf(field: FieldDescriptor, build: Build, depth: number): fc.Arbitrary<JsonValue> {
  switch (field.type) {
    case 'message':
      return special[field.of] ?? build(field.of, depth + 1);
    case 'enum':
      return fc.constantFrom(...(enums[field.of] ?? []).slice(1).map(([, name]) => name));
    case 'string':
      return text;
    case 'bytes':
      return fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    case 'bool':
      return fc.constant(true);
    case 'int32':
      return fc.integer().filter((value) => value !== 0);
    case 'int64':
      return fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String);
    case 'float':
      return fc.integer({ min: 1, max: 2 ** 20 }).map((value) => value / 8);
    case 'double':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, 0));
  }
}
