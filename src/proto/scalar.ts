import { type BinaryReader, type BinaryWriter, base64Decode, base64Encode, WireType } from '@bufbuild/protobuf/wire';
import type { JsonValue } from '../base/json.ts';
import { isRawNumber } from '../base/lossless-json.ts';
import type { FieldDescriptor, ScalarType } from './descriptor.ts';
import { enums } from './generated/descriptors.ts';

/** How one scalar type looks in JSON, in memory and on the wire. */
export interface ScalarCodec<Native> {
  readonly wire: WireType;
  /** For error messages: what JSON has to hold. */
  readonly expected: string;
  /** Undefined where the JSON value has the wrong shape or range. */
  parse(value: unknown): Native | undefined;
  format(value: Native): JsonValue;
  /** The JSON value an absent field stands for. */
  readonly zero: JsonValue;
  isZero(value: Native): boolean;
  write(writer: BinaryWriter, value: Native): void;
  read(reader: BinaryReader): Native;
}

export type Native = string | number | bigint | boolean | Uint8Array;

const INT32_LIMIT = 2 ** 31;
const INT64_LIMIT = 2n ** 63n;
const FLOAT_MAX = 3.4028234663852886e38;

const string: ScalarCodec<string> = {
  wire: WireType.LengthDelimited,
  expected: 'a string of valid Unicode',
  // A lone surrogate has no UTF-8 form; the writer would store another string.
  parse: (value) => (typeof value === 'string' && value.isWellFormed() ? value : undefined),
  format: (value) => value,
  zero: '',
  isZero: (value) => value === '',
  write: (writer, value) => writer.string(value),
  read: (reader) => reader.string(true),
};

const bytes: ScalarCodec<Uint8Array> = {
  wire: WireType.LengthDelimited,
  expected: 'bytes as base64',
  parse: (value) => (typeof value === 'string' ? parseBase64(value) : undefined),
  format: (value) => base64Encode(value),
  zero: '',
  isZero: (value) => value.length === 0,
  write: (writer, value) => writer.bytes(value),
  read: (reader) => reader.bytes(),
};

const bool: ScalarCodec<boolean> = {
  wire: WireType.Varint,
  expected: 'true or false',
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
  format: (value) => value,
  zero: false,
  isZero: (value) => !value,
  write: (writer, value) => writer.bool(value),
  read: (reader) => reader.bool(),
};

const int32: ScalarCodec<number> = {
  wire: WireType.Varint,
  expected: 'a whole number of 32 bits',
  parse: (value) => parseInt32(typeof value === 'string' && decimalInteger.test(value) ? Number(value) : value),
  format: (value) => value,
  zero: 0,
  isZero: (value) => value === 0,
  write: (writer, value) => writer.int32(value),
  read: (reader) => reader.int32(),
};

const int64: ScalarCodec<bigint> = {
  wire: WireType.Varint,
  expected: 'a whole number of 64 bits, as a string',
  parse: parseInt64,
  format: (value) => value.toString(),
  zero: '0',
  isZero: (value) => value === 0n,
  write: (writer, value) => writer.int64(value),
  read: (reader) => BigInt(reader.int64()),
};

const float: ScalarCodec<number> = {
  wire: WireType.Bit32,
  expected: 'a number in the range of a float',
  parse: (value) => {
    const number = parseDouble(value);
    return number !== undefined && Number.isFinite(number) && Math.abs(number) > FLOAT_MAX ? undefined : number;
  },
  format: (value) => formatDouble(shortestFloat(value)),
  zero: 0,
  isZero: (value) => Object.is(value, 0),
  write: (writer, value) => writer.float(value),
  read: (reader) => reader.float(),
};

const double: ScalarCodec<number> = {
  wire: WireType.Bit64,
  expected: 'a number',
  parse: parseDouble,
  format: formatDouble,
  zero: 0,
  // Minus zero is a value of its own.
  isZero: (value) => Object.is(value, 0),
  write: (writer, value) => writer.double(value),
  read: (reader) => reader.double(),
};

const scalars: Readonly<Record<ScalarType, ScalarCodec<Native>>> = { string, bytes, bool, int32, int64, float, double };

const enumCodecs = new Map<string, ScalarCodec<Native>>();

/** Undefined for messages. */
export function scalarCodec(field: FieldDescriptor): ScalarCodec<Native> | undefined {
  if (field.type === 'message') return undefined;
  if (field.type !== 'enum') return scalars[field.type];
  let codec = enumCodecs.get(field.of);
  if (codec === undefined) enumCodecs.set(field.of, (codec = enumCodec(field.of)));
  return codec;
}

/** Names in JSON; numbers too where this release does not know the name. */
function enumCodec(name: string): ScalarCodec<number> {
  const type = enumType(name);
  return {
    ...int32,
    expected: `a value of ${name.slice(name.lastIndexOf('.') + 1)}`,
    parse: (value) => (typeof value === 'string' ? type.numbers.get(value) : parseInt32(value)),
    format: (value) => type.names.get(value) ?? value,
    zero: type.zero,
  };
}

const decimalInteger = /^-?\d{1,19}$/;

function parseInt32(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  // Adding zero turns minus zero into zero.
  return value >= -INT32_LIMIT && value < INT32_LIMIT ? value + 0 : undefined;
}

/** Numbers beyond 2^53 are refused unless they were kept as text: JSON has already rounded them. */
function parseInt64(received: unknown): bigint | undefined {
  const value = isRawNumber(received) ? received.rawJSON : received;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== 'string' || !decimalInteger.test(value)) return undefined;
  const number = BigInt(value);
  return number >= -INT64_LIMIT && number < INT64_LIMIT ? number : undefined;
}

/** JSON has no text for these, so protobuf's JSON uses strings. */
const nonFinite: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function parseDouble(value: unknown): number | undefined {
  if (isRawNumber(value)) return Number(value.rawJSON);
  return typeof value === 'number' ? value : nonFinite.get(value);
}

function formatDouble(value: number): JsonValue {
  return Number.isFinite(value) ? value : String(value);
}

/**
 * A float read as a double shows digits that were not written (0.1 as 0.10000000149011612): gives the shortest text.
 */
function shortestFloat(value: number): number {
  for (let precision = 1; precision <= 9; precision += 1) {
    const candidate = Number(value.toPrecision(precision));
    if (Math.fround(candidate) === value) return candidate;
  }
  return value;
}

function parseBase64(text: string): Uint8Array | undefined {
  try {
    return base64Decode(text);
  } catch {
    return undefined;
  }
}

export interface EnumType {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
  /** The name of value 0, which an absent field stands for. */
  readonly zero: string;
}

const types: ReadonlyMap<string, EnumType> = new Map(
  Object.entries(enums).map(([name, values]) => [
    name,
    {
      numbers: new Map(values.map(([number, value]) => [value, number])),
      names: new Map(values),
      zero: values[0]?.[1] ?? '',
    },
  ]),
);

const empty: EnumType = { numbers: new Map(), names: new Map(), zero: '' };

/** The generator gives every enum that a field names, so the empty one is never met. */
export function enumType(name: string): EnumType {
  return types.get(name) ?? empty;
}
