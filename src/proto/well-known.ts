// Messages whose JSON is not an object of their fields.
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { isRawNumber } from '../base/lossless-json.ts';
import { formatTimestamp, fractionText, parseTimestamp, timestampOf } from '../base/timestamp.ts';
import type { Encoding } from './left-out.ts';
import { child, type Position, undecodable } from './position.ts';
import { readStruct, writeStruct } from './struct.ts';
import { visitFields } from './wire-fields.ts';

export interface WellKnownType {
  /** What the JSON is, for the description of fields. */
  readonly json: 'timestamp' | 'duration' | 'struct' | 'opaque' | 'quantity' | 'int-or-string';
  /**
   * What writes the content of the message, without tag and length; undefined where the value does not fit, which the
   * encoding was then told.
   */
  prepare(encoding: Encoding, value: unknown, at: Position): (() => void) | undefined;
  /** Undefined where the message stands for an absent value. */
  read(message: Uint8Array, at: Position): JsonValue | undefined;
}

interface SecondsAndNanos {
  readonly seconds: number;
  readonly nanos: number;
}

/** A codec of values that are one scalar in JSON. */
function scalar<T>(
  json: WellKnownType['json'],
  expected: string,
  parse: (value: unknown) => T | undefined,
  write: (writer: BinaryWriter, value: T) => void,
): Pick<WellKnownType, 'json' | 'prepare'> {
  const prepare = (encoding: Encoding, value: unknown, at: Position): (() => void) | undefined => {
    const parsed = parse(value);
    if (parsed !== undefined) return () => write(encoding.writer, parsed);
    encoding.leaveOut(at, expected);
    return undefined;
  };
  return { json, prepare };
}

const textOr =
  <T>(parse: (text: string) => T | undefined) =>
  (value: unknown): T | undefined =>
    typeof value === 'string' ? parse(value) : undefined;

const timestamp: WellKnownType = {
  ...scalar('timestamp', 'an RFC 3339 time', textOr(parseTimestamp), writeSecondsAndNanos),
  read: (message, at) => formatTimestamp(readSecondsAndNanos(message)) ?? undecodable(at, 'a time out of range'),
};

/**
 * The CRDs have the message itself, as the original's do; clients of Kubernetes write text. Kubernetes writes the absent
 * time as an empty message, so 1970 cannot be told from it.
 */
const kubernetesTime: WellKnownType = {
  ...scalar('timestamp', 'an RFC 3339 time, or its seconds and nanos', timestampOf, writeSecondsAndNanos),
  read(message, at) {
    const { seconds, nanos } = readSecondsAndNanos(message);
    return seconds === 0 && nanos === 0 ? undefined : timestamp.read(message, at);
  },
};

const duration: WellKnownType = {
  ...scalar('duration', 'a duration such as 3.5s or 1h30m', textOr(parseProtoDuration), writeSecondsAndNanos),
  read: (message, at) =>
    formatProtoDuration(readSecondsAndNanos(message)) ?? undecodable(at, 'a duration out of range'),
};

const struct: WellKnownType = {
  json: 'struct',
  prepare(encoding, value, at) {
    const object = encoding.objectAt(value, at);
    return object && (() => writeStruct(encoding, object, at));
  },
  read: readStruct,
};

/** A text that Kubernetes could not parse would cost its decoder the whole object. */
const QUANTITY = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,9})?$/;

const quantity: WellKnownType = {
  ...scalar('quantity', 'a quantity such as 500m or 2Gi', parseQuantity, (writer, text) =>
    writer.tag(1, WireType.LengthDelimited).string(text),
  ),
  read(message) {
    let text = '0';
    visitFields(message, (reader, number) => {
      if (number !== 1) return false;
      text = reader.string(true);
      return true;
    });
    return text;
  },
};

function parseQuantity(value: unknown): string | undefined {
  const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && QUANTITY.test(text) ? text : undefined;
}

const INT_OR_STRING = { type: 1, int: 2, string: 3 } as const;

const intOrString: WellKnownType = {
  ...scalar('int-or-string', 'a whole number of 32 bits or a string', parseIntOrString, (writer, value) => {
    if (typeof value === 'number') writer.tag(INT_OR_STRING.int, WireType.Varint).int32(value);
    else
      writer
        .tag(INT_OR_STRING.type, WireType.Varint)
        .int64(1)
        .tag(INT_OR_STRING.string, WireType.LengthDelimited)
        .string(value);
  }),
  read(message) {
    const found = { isText: false, number: 0, text: '' };
    visitFields(message, (reader, field) => {
      if (field === INT_OR_STRING.type) found.isText = Number(reader.int64()) === 1;
      else if (field === INT_OR_STRING.int) found.number = reader.int32();
      else if (field === INT_OR_STRING.string) found.text = reader.string(true);
      else return false;
      return true;
    });
    return found.isText ? found.text : found.number;
  },
};

function parseIntOrString(value: unknown): number | string | undefined {
  const chosen = isJsonObject(value) ? memberOfMessage(value) : value;
  if (typeof chosen === 'string') return chosen.isWellFormed() ? chosen : undefined;
  return typeof chosen === 'number' && Object.is(chosen | 0, chosen) ? chosen : undefined;
}

const TEXT_TYPES: readonly unknown[] = ['1', 1];
const NUMBER_TYPES: readonly unknown[] = ['0', 0, null, undefined];

/** The CRDs have the message itself, as the original's do; clients of Kubernetes write the number or the text. */
function memberOfMessage({ type, intVal, strVal, ...others }: JsonObject): unknown {
  if (Object.keys(others).length > 0) return undefined;
  const [number, text] = [intVal ?? 0, strVal ?? ''];
  if (TEXT_TYPES.includes(type)) return typeof text === 'string' ? text : undefined;
  return NUMBER_TYPES.includes(type) && typeof number === 'number' ? number : undefined;
}

const types: ReadonlyMap<string, WellKnownType> = new Map([
  ['google.protobuf.Timestamp', timestamp],
  ['google.protobuf.Duration', duration],
  ['google.protobuf.Struct', struct],
  ['k8s.io.apimachinery.pkg.apis.meta.v1.Time', kubernetesTime],
  ['k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1', opaqueJson(1)],
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', quantity],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrString],
]);

export function wellKnownType(message: string): WellKnownType | undefined {
  return types.get(message);
}

function writeSecondsAndNanos(writer: BinaryWriter, value: SecondsAndNanos): void {
  if (value.seconds !== 0) writer.tag(1, WireType.Varint).int64(value.seconds);
  if (value.nanos !== 0) writer.tag(2, WireType.Varint).int32(value.nanos);
}

function readSecondsAndNanos(message: Uint8Array): SecondsAndNanos {
  let seconds = 0;
  let nanos = 0;
  visitFields(message, (reader, number) => {
    if (number === 1) seconds = Number(reader.int64());
    else if (number === 2) nanos = reader.int32();
    else return false;
    return true;
  });
  return { seconds, nanos };
}

/** google.protobuf.Duration: both parts have the sign of the whole. */
export interface ProtoDuration {
  readonly seconds: number;
  readonly nanos: number;
}

/** 10 000 years, the range protobuf gives the type. */
const MAX_DURATION_SECONDS = 315_576_000_000;

/** Seconds with an `s`, e.g. `3.5s` or `-0.001s`, or what Go's time.ParseDuration takes, e.g. `1h30m`. */
export function parseProtoDuration(text: string): ProtoDuration | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null) return parseGoDuration(text);
  const [, sign, whole = '', fraction = ''] = match;
  const factor = sign === '-' ? -1 : 1;
  const duration = { seconds: factor * Number(whole) + 0, nanos: factor * Number(fraction.padEnd(9, '0')) + 0 };
  return isDurationInRange(duration) ? duration : undefined;
}

const NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const GO_DURATION = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/;
const GO_DURATION_PART = /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g;
/** Longer ones are no duration that anyone means, and would cost time to read. */
const MAX_DURATION_TEXT = 100;

/** Whole nanoseconds of at most 64 bits; what is smaller is cut off, as Go does. */
function parseGoDuration(text: string): ProtoDuration | undefined {
  const [, sign, parts = ''] = text.length <= MAX_DURATION_TEXT ? (GO_DURATION.exec(text) ?? []) : [];
  if (sign === undefined) return undefined;
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of parts.matchAll(GO_DURATION_PART)) {
    const size = NANOS[unit] ?? 0n;
    nanos += BigInt(whole) * size + (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  if (nanos >= 2n ** 63n) return undefined;
  const signed = sign === '-' ? -nanos : nanos;
  return { seconds: Number(signed / 1_000_000_000n), nanos: Number(signed % 1_000_000_000n) };
}

/** The shortest exact text. Undefined out of range or with mixed signs. */
export function formatProtoDuration(duration: ProtoDuration): string | undefined {
  if (!isDurationInRange(duration)) return undefined;
  const sign = duration.seconds < 0 || duration.nanos < 0 ? '-' : '';
  return `${sign}${Math.abs(duration.seconds)}${fractionText(Math.abs(duration.nanos))}s`;
}

function isDurationInRange({ seconds, nanos }: ProtoDuration): boolean {
  if (Math.abs(seconds) > MAX_DURATION_SECONDS || Math.abs(nanos) >= 1_000_000_000) return false;
  return seconds === 0 || nanos === 0 || Math.sign(seconds) === Math.sign(nanos);
}

/** A message whose only field holds the text of a JSON object that the definitions do not look into. */
function opaqueJson(fieldNumber: number): WellKnownType {
  return {
    json: 'opaque',
    prepare(encoding, value, at) {
      const object = encoding.objectAt(value, at);
      if (object === undefined || !isShallow(encoding, object, at)) return undefined;
      return () => encoding.writer.tag(fieldNumber, WireType.LengthDelimited).string(canonicalJson(object));
    },
    read(message, at) {
      let text = '{}';
      visitFields(message, (reader, number) => {
        if (number !== fieldNumber) return false;
        text = reader.string(true);
        return true;
      });
      return parseObject(text) ?? undecodable(at, 'the embedded text is not a JSON object');
    },
  };
}

/** The parser's own error quotes the text, which may hold a secret. */
function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The text is made by recursion, which has to end before the stack does. */
function isShallow(encoding: Encoding, value: unknown, at: Position): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (!encoding.isShallow(at)) return false;
  return Object.entries(value).every(([key, member]) => isShallow(encoding, member, child(at, key)));
}
