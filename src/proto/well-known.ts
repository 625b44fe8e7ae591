// Messages whose JSON is not an object of their fields.
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { limitEncodingDepth, objectAt, undecodable, unencodable } from './checks.ts';
import { messages } from './generated/descriptors.ts';
import { child, type Position } from './position.ts';
import { readStruct, writeStruct } from './struct.ts';
import { visitFields } from './wire-fields.ts';

export interface WellKnownType {
  /** What the JSON is, for the description of fields. */
  readonly json: 'timestamp' | 'duration' | 'struct' | 'opaque';
  /** Writes the content of the message, without tag and length. */
  write(writer: BinaryWriter, value: unknown, at: Position): void;
  /** Undefined where the message stands for an absent value. */
  read(message: Uint8Array, at: Position): JsonValue | undefined;
}

interface SecondsAndNanos {
  readonly seconds: number;
  readonly nanos: number;
}

const timestamp: WellKnownType = {
  json: 'timestamp',
  write(writer, value, at) {
    const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
    writeSecondsAndNanos(writer, parsed ?? unencodable(at, 'an RFC 3339 time'));
  },
  read: (message, at) => formatTimestamp(readSecondsAndNanos(message)) ?? undecodable(at, 'a time out of range'),
};

/** Kubernetes writes the absent time as an empty message, so 1970 cannot be told from it. */
const kubernetesTime: WellKnownType = {
  ...timestamp,
  read(message, at) {
    const { seconds, nanos } = readSecondsAndNanos(message);
    return seconds === 0 && nanos === 0 ? undefined : timestamp.read(message, at);
  },
};

const duration: WellKnownType = {
  json: 'duration',
  write(writer, value, at) {
    const parsed = typeof value === 'string' ? parseProtoDuration(value) : undefined;
    writeSecondsAndNanos(writer, parsed ?? unencodable(at, 'a duration in seconds such as 3.5s'));
  },
  read: (message, at) =>
    formatProtoDuration(readSecondsAndNanos(message)) ?? undecodable(at, 'a duration out of range'),
};

const struct: WellKnownType = { json: 'struct', write: writeStruct, read: readStruct };

const types: ReadonlyMap<string, WellKnownType> = new Map([
  ['google.protobuf.Timestamp', timestamp],
  ['google.protobuf.Duration', duration],
  ['google.protobuf.Struct', struct],
  ['k8s.io.apimachinery.pkg.apis.meta.v1.Time', kubernetesTime],
  opaque('k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1'),
  opaque('k8s.io.api.core.v1.PodTemplateSpec'),
]);

export function wellKnownType(message: string): WellKnownType | undefined {
  return types.get(message);
}

function opaque(message: string): [string, WellKnownType] {
  return [message, { json: 'opaque', ...opaqueJson(messages[message]?.[0]?.number ?? 1) }];
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

/** A point in time as google.protobuf.Timestamp and metav1.Time hold it: seconds since 1970 and 0 ≤ nanos < 10⁹. */
interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/** The first second of year 1 and the last of year 9999, the range of RFC 3339. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

const rfc3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Undefined where the text is not an RFC 3339 time that exists. Digits beyond nanoseconds are dropped, as Go does. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', fraction = '', sign, hours, minutes] = match;
  const local = secondsOf(date, time);
  const offset = sign === undefined ? 0 : offsetSeconds(sign, Number(hours), Number(minutes));
  if (local === undefined || offset === undefined) return undefined;
  const timestamp = { seconds: local - offset, nanos: Number(fraction.slice(0, 9).padEnd(9, '0')) };
  return isTimeInRange(timestamp) ? timestamp : undefined;
}

/** UTC with the shortest exact fraction. Undefined out of range: no RFC 3339 text exists for it. */
export function formatTimestamp(timestamp: Timestamp): string | undefined {
  if (!isTimeInRange(timestamp)) return undefined;
  const whole = new Date(timestamp.seconds * 1000).toISOString().slice(0, 19);
  return `${whole}${fractionText(timestamp.nanos)}Z`;
}

/** `.5` for 500 000 000 nanoseconds, nothing for 0. */
function fractionText(nanos: number): string {
  return nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}

function isTimeInRange({ seconds, nanos }: Timestamp): boolean {
  return seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos < 1_000_000_000;
}

/** The date parser carries over (30 February is 1 March), so the result is read back. */
function secondsOf(date: string, time: string): number | undefined {
  const parsed = new Date(`${date}T${time}Z`);
  if (Number.isNaN(parsed.getTime()) || parsed.toISOString().slice(0, 19) !== `${date}T${time}`) return undefined;
  return parsed.getTime() / 1000;
}

function offsetSeconds(sign: string, hours: number, minutes: number): number | undefined {
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** google.protobuf.Duration: both parts have the sign of the whole. */
export interface ProtoDuration {
  readonly seconds: number;
  readonly nanos: number;
}

/** 10 000 years, the range protobuf gives the type. */
const MAX_DURATION_SECONDS = 315_576_000_000;

/** Undefined where the text is not seconds with an `s`, e.g. `3.5s` or `-0.001s`. */
export function parseProtoDuration(text: string): ProtoDuration | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const factor = sign === '-' ? -1 : 1;
  const duration = { seconds: factor * Number(whole) + 0, nanos: factor * Number(fraction.padEnd(9, '0')) + 0 };
  return isDurationInRange(duration) ? duration : undefined;
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
interface OpaqueJson {
  write(writer: BinaryWriter, value: unknown, at: Position): void;
  read(message: Uint8Array, at: Position): JsonObject;
}

function opaqueJson(fieldNumber: number): OpaqueJson {
  return {
    write(writer, value, at) {
      const object = objectAt(value, at);
      limitNesting(object, at);
      writer.tag(fieldNumber, WireType.LengthDelimited).string(canonicalJson(object));
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
function limitNesting(value: unknown, at: Position): void {
  if (typeof value !== 'object' || value === null) return;
  limitEncodingDepth(at);
  for (const [key, member] of Object.entries(value)) limitNesting(member, child(at, key));
}
