// Objects made from the descriptors that hold a distinct, non-zero value in every field of every message of a kind.
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import type { FieldDescriptor, ScalarType } from '../../../src/proto/descriptor.ts';
import { enums, messages } from '../../../src/proto/generated/descriptors.ts';

/** A multiple of every oneof's size, so that a oneof of 3 inside one of 5 gets each of its members too. */
const VARIANTS = 60;

/** A message inside itself is filled this many times. */
const SELF_NESTING = 2;

interface Filling {
  /** Which member of each oneof gets a value. */
  readonly variant: number;
  readonly outer: readonly string[];
  /** `message.field` of everything filled so far, and the source of distinct values. */
  readonly filled: Set<string>;
  readonly count: { value: number };
}

/** Objects that together fill every field: as a oneof takes one member at a time, each kind has several. */
export function everyFieldOf(kind: string): { readonly objects: JsonObject[]; readonly filled: ReadonlySet<string> } {
  const filled = new Set<string>();
  const objects: JsonObject[] = [];
  for (let variant = 0; variant < VARIANTS; variant += 1) {
    const before = filled.size;
    const filling: Filling = { variant, outer: [], filled, count: { value: 0 } };
    const { typeMeta: _, metadata, ...rest } = fillMessage(`michelangelo.api.v2.${kind}`, filling);
    if (filled.size === before) continue;
    const numbers = { generation: 7, deletionGracePeriodSeconds: 30 };
    objects.push({
      kind,
      apiVersion: 'michelangelo.api/v2',
      metadata: { ...(metadata as JsonObject), ...numbers },
      ...rest,
    });
  }
  return { objects, filled };
}

/** `message.field` of every field that an object of the kind can hold. */
export function reachableFields(kind: string): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name) || sampleOf[name] !== undefined) return;
    seen.add(name);
    for (const field of messages[name] ?? []) {
      found.add(`${name}.${field.name}`);
      if (field.type === 'message') visit(field.of);
    }
  };
  visit(`michelangelo.api.v2.${kind}`);
  return found;
}

/** Messages whose JSON is not an object of their fields. */
const sampleOf: Readonly<Record<string, (n: number) => JsonValue>> = {
  'google.protobuf.Timestamp': (n) => `2024-02-29T12:34:56.${String(n).padStart(8, '0')}1Z`,
  'google.protobuf.Duration': (n) => `${n}.5s`,
  'google.protobuf.Struct': (n) => ({
    n,
    null: null,
    yes: true,
    no: false,
    list: [1, 'two', [], {}],
    kw_args: { a_b: 'c' },
  }),
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': (n) => `2024-01-01T00:00:00.${String(n).padStart(8, '0')}1Z`,
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': (n) => ({ 'f:spec': { 'f:n': {}, [`k:${n}`]: {} } }),
  'k8s.io.apimachinery.pkg.api.resource.Quantity': (n) => `${n}Mi`,
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': (n) => (n % 2 === 0 ? n : `port-${n}`),
};

function fillMessage(name: string, filling: Filling): JsonObject {
  const object: JsonObject = {};
  const fields = messages[name] ?? [];
  for (const field of fields) {
    if (!isChosen(field, fields, filling.variant)) continue;
    const outer = [...filling.outer, name];
    if (field.type === 'message' && outer.filter((at) => at === field.of).length >= SELF_NESTING) continue;
    filling.filled.add(`${name}.${field.name}`);
    object[field.name] = fillField(field, { ...filling, outer });
  }
  return object;
}

function isChosen(field: FieldDescriptor, fields: readonly FieldDescriptor[], variant: number): boolean {
  if (field.oneof === undefined) return true;
  const members = fields.filter((other) => other.oneof === field.oneof);
  return members[variant % members.length] === field;
}

function fillField(field: FieldDescriptor, filling: Filling): JsonValue {
  if (field.label === 'repeated') return [fillValue(field, filling), fillValue(field, filling)];
  // Keys in sorted order, as a decoded map has them.
  if (field.label === 'map') return { 'a key/with.dots': fillValue(field, filling), b: fillValue(field, filling) };
  return fillValue(field, filling);
}

function fillValue(field: FieldDescriptor, filling: Filling): JsonValue {
  const n = (filling.count.value += 1);
  if (field.type === 'message') return sampleOf[field.of]?.(n) ?? fillMessage(field.of, filling);
  if (field.type !== 'enum') return scalarSamples[field.type](n, field.name);
  const names = (enums[field.of] ?? []).slice(1);
  return names[n % names.length]![1];
}

const scalarSamples: Readonly<Record<ScalarType, (n: number, name: string) => JsonValue>> = {
  string: (n, name) => `${name} ${n} ✓`,
  bytes: (n, name) => Buffer.from(`${name} ${n}`).toString('base64'),
  bool: () => true,
  int32: (n) => (n % 2 === 0 ? n * 1000 : -n),
  int64: (n) => String(9_007_199_254_740_993n + BigInt(n)),
  float: (n) => n + 0.1,
  double: (n) => n + 0.123456789,
};
