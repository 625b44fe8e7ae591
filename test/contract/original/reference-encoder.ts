// Protobuf bytes from the numbers on record (wire-contract.txt) and from what the protobuf documentation says of the wire.
// It shares no code and no table with our encoder, and knows complete, right objects only.
import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';

interface Field {
  readonly number: number;
  readonly name: string;
  readonly label: 'repeated' | 'map' | 'optional' | undefined;
  readonly type: string;
  readonly presence: boolean;
}

const fields = new Map<string, Field[]>();
const enums = new Map<string, Map<string, number>>();

for (const line of readFileSync(new URL('../../unit/proto/wire-contract.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')) {
  const [owner = '', number = '', name = '', ...rest] = line.split(' ');
  if (rest.length === 0) {
    enums.set(owner, (enums.get(owner) ?? new Map<string, number>()).set(name, Number(number)));
    continue;
  }
  const label = (['repeated', 'map', 'optional'] as const).find((one) => one === rest[0]);
  const type = rest[label === undefined ? 0 : 1] ?? '';
  const presence = label === 'optional' || rest.includes('oneof');
  fields.set(owner, [...(fields.get(owner) ?? []), { number: Number(number), name, label, type, presence }]);
}

const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  for (let left = BigInt.asUintN(64, value); ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)]);
    bytes.push(Number(left & 127n) | 128);
  }
};
const tag = (number: number, wire: number): Buffer => varint((BigInt(number) << 3n) | BigInt(wire));
const block = (number: number, content: Buffer): Buffer =>
  Buffer.concat([tag(number, 2), varint(BigInt(content.length)), content]);
const text = (value: JsonValue): Buffer => Buffer.from(value as string, 'utf8');

type Scalar = readonly [wire: number, bytes: Buffer];

function scalar(type: string, value: JsonValue): Scalar | undefined {
  const number = (write: 'writeFloatLE' | 'writeDoubleLE', size: number): Buffer => {
    const bytes = Buffer.alloc(size);
    bytes[write](Number(value));
    return bytes;
  };
  switch (type) {
    case 'string':
      return [2, text(value)];
    case 'bytes':
      return [2, Buffer.from(value as string, 'base64')];
    case 'bool':
      return [0, varint(value === true ? 1n : 0n)];
    case 'int32':
    case 'int64':
      return [0, varint(BigInt(value as string | number))];
    case 'float':
      return [5, number('writeFloatLE', 4)];
    case 'double':
      return [1, number('writeDoubleLE', 8)];
    default: {
      const values = enums.get(type);
      return values === undefined ? undefined : [0, varint(BigInt(values.get(value as string) ?? -1))];
    }
  }
}

const seconds = (whole: bigint, nanos: bigint): Buffer =>
  Buffer.concat([
    ...(whole === 0n ? [] : [tag(1, 0), varint(whole)]),
    ...(nanos === 0n ? [] : [tag(2, 0), varint(nanos)]),
  ]);
const nanosOf = (fraction: string | undefined): bigint => BigInt((fraction ?? '').padEnd(9, '0'));

/** The text of a time; an object is the message itself, which has the fields of a Timestamp and of a Time of Kubernetes. */
function time(value: JsonValue): Buffer {
  if (typeof value === 'object') {
    const { seconds: whole, nanos } = value as { readonly seconds?: string; readonly nanos?: number };
    return seconds(BigInt(whole ?? 0), BigInt(nanos ?? 0));
  }
  const [, whole = '', fraction] = /^([^.Z]*)(?:\.(\d+))?Z$/.exec(value as string) ?? [];
  return seconds(BigInt(Date.parse(`${whole}Z`)) / 1000n, nanosOf(fraction));
}

function duration(value: JsonValue): Buffer {
  const [, sign = '', whole = '', fraction] = /^(-?)(\d+)(?:\.(\d+))?s$/.exec(value as string) ?? [];
  const factor = sign === '-' ? -1n : 1n;
  return seconds(factor * BigInt(whole), factor * nanosOf(fraction));
}

const sorted = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(keysOf(value).map((key) => [key, sorted(value[key] ?? null)]));
};
const keysOf = (object: JsonObject): readonly string[] =>
  Object.keys(object).sort((left, right) => (left < right ? -1 : 1));

function struct(object: JsonObject): Buffer {
  return Buffer.concat(
    keysOf(object).map((key) =>
      block(1, Buffer.concat([block(1, text(key)), block(2, anyValue(object[key] ?? null))])),
    ),
  );
}

function anyValue(value: JsonValue): Buffer {
  if (value === null) return Buffer.concat([tag(1, 0), varint(0n)]);
  if (typeof value === 'number') return Buffer.concat([tag(2, 1), scalar('double', value)![1]]);
  if (typeof value === 'string') return block(3, text(value));
  if (typeof value === 'boolean') return Buffer.concat([tag(4, 0), varint(value ? 1n : 0n)]);
  if (Array.isArray(value)) return block(6, Buffer.concat(value.map((item) => block(1, anyValue(item)))));
  return block(5, struct(value));
}

const special: Readonly<Record<string, (value: JsonValue) => Buffer>> = {
  'google.protobuf.Timestamp': time,
  'google.protobuf.Duration': duration,
  'google.protobuf.Struct': (value) => struct(value as JsonObject),
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': time,
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': (value) => block(1, text(JSON.stringify(sorted(value)))),
  'k8s.io.apimachinery.pkg.api.resource.Quantity': (value) => block(1, text(value)),
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': (value) => {
    if (typeof value === 'number') return Buffer.concat([tag(2, 0), varint(BigInt(value))]);
    if (typeof value === 'string') return Buffer.concat([tag(1, 0), varint(1n), block(3, text(value))]);
    return fieldsOf('k8s.io.apimachinery.pkg.util.intstr.IntOrString', value as JsonObject);
  },
};

function message(name: string, object: JsonObject): Buffer {
  const write = special[name];
  return write === undefined ? fieldsOf(name, object) : write(object);
}

function fieldsOf(name: string, object: JsonObject): Buffer {
  const inOrder = (fields.get(name) ?? []).toSorted((left, right) => left.number - right.number);
  return Buffer.concat(inOrder.map((field) => member(name, field, object[jsonName(name, field)])));
}

const jsonName = (owner: string, { name }: Field): string =>
  owner === 'google.protobuf.Any' && name === 'type_url'
    ? '@type'
    : name.replace(/_+(.?)/g, (_all, next: string) => next.toUpperCase());

function member(owner: string, field: Field, value: JsonValue | undefined): Buffer {
  if (value === undefined) return Buffer.alloc(0);
  if (field.label === 'map') {
    const entries = value as JsonObject;
    const entry = (key: string): Buffer => block(1, text(key));
    const item = { ...field, number: 2, label: undefined, presence: true };
    return Buffer.concat(
      keysOf(entries).map((key) => block(field.number, Buffer.concat([entry(key), member(owner, item, entries[key])]))),
    );
  }
  if (field.label === 'repeated') return list(owner, field, value as readonly JsonValue[]);
  const one = scalar(field.type, value);
  if (one === undefined) return block(field.number, message(field.type, value as JsonObject));
  return tagged(field.number, one);
}

function tagged(number: number, [wire, bytes]: Scalar): Buffer {
  return wire === 2 ? block(number, bytes) : Buffer.concat([tag(number, wire), bytes]);
}

/** Kubernetes has proto2, where a list of numbers has a tag for each. */
function list(owner: string, field: Field, values: readonly JsonValue[]): Buffer {
  const scalars = values.map((value) => scalar(field.type, value));
  const packs =
    !owner.startsWith('k8s.io.') && scalars.length > 0 && scalars.every((one) => one !== undefined && one[0] !== 2);
  if (packs) return block(field.number, Buffer.concat(scalars.map((one) => one![1])));
  return Buffer.concat(values.map((value) => member(owner, { ...field, label: undefined }, value)));
}

/** The bytes of an object of a kind. */
export function referenceBytes(kind: string, { kind: kindName, apiVersion, ...object }: JsonObject): Buffer {
  const typeMeta: JsonObject = {
    ...(kindName === undefined ? {} : { kind: kindName }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
  };
  return message(`michelangelo.api.v2.${kind}`, { typeMeta, ...object });
}
