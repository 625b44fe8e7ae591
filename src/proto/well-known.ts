// Messages whose JSON is not an object of their fields.
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { JsonValue } from '../base/json.ts';
import { undecodable, unencodable } from './checks.ts';
import { messages } from './generated/descriptors.ts';
import { opaqueJson } from './opaque-json.ts';
import type { Position } from './position.ts';
import { readStruct, writeStruct } from './struct.ts';
import { formatTimestamp, fractionText, parseTimestamp } from './timestamp.ts';
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

/** google.protobuf.Duration: both parts have the sign of the whole. */
export interface ProtoDuration {
  readonly seconds: number;
  readonly nanos: number;
}

/** 10 000 years, the range protobuf gives the type. */
const MAX_SECONDS = 315_576_000_000;

/** Undefined where the text is not seconds with an `s`, e.g. `3.5s` or `-0.001s`. */
export function parseProtoDuration(text: string): ProtoDuration | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const factor = sign === '-' ? -1 : 1;
  const duration = { seconds: factor * Number(whole) + 0, nanos: factor * Number(fraction.padEnd(9, '0')) + 0 };
  return isInRange(duration) ? duration : undefined;
}

/** The shortest exact text. Undefined out of range or with mixed signs. */
export function formatProtoDuration(duration: ProtoDuration): string | undefined {
  if (!isInRange(duration)) return undefined;
  const sign = duration.seconds < 0 || duration.nanos < 0 ? '-' : '';
  return `${sign}${Math.abs(duration.seconds)}${fractionText(Math.abs(duration.nanos))}s`;
}

function isInRange({ seconds, nanos }: ProtoDuration): boolean {
  if (Math.abs(seconds) > MAX_SECONDS || Math.abs(nanos) >= 1_000_000_000) return false;
  return seconds === 0 || nanos === 0 || Math.sign(seconds) === Math.sign(nanos);
}
