import { WireType } from '@bufbuild/protobuf/wire';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isRawNumber } from '../base/lossless-json.ts';
import type { Encoding } from './left-out.ts';
import { child, limitDecodingDepth, type Position, sortedKeys, undecodable } from './position.ts';
import { visitFields } from './wire-fields.ts';

// Field numbers of google.protobuf.Struct, its map entry, Value and ListValue.
const STRUCT_FIELDS = 1;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;
const VALUE = { null: 1, number: 2, string: 3, bool: 4, struct: 5, list: 6 } as const;
const LIST_VALUES = 1;

/** Writes the content of a google.protobuf.Struct: any JSON object. What cannot be written is left out alone. */
export function writeStruct(encoding: Encoding, object: JsonObject, at: Position): void {
  const { writer } = encoding;
  for (const key of sortedKeys(object)) {
    const member = object[key];
    const memberAt = child(at, key);
    if (member === undefined || !encoding.isText(key, memberAt, 'a key') || !isWritable(encoding, member, memberAt)) {
      continue;
    }
    writer.tag(STRUCT_FIELDS, WireType.LengthDelimited).fork();
    writer.tag(ENTRY_KEY, WireType.LengthDelimited).string(key);
    writer.tag(ENTRY_VALUE, WireType.LengthDelimited).fork();
    writeValue(encoding, member, memberAt);
    writer.join().join();
  }
}

/** Asked before anything of the value is written. Of a list or an object only whether it is nested too deep. */
function isWritable(encoding: Encoding, value: unknown, at: Position): boolean {
  const number = isRawNumber(value) ? Number(value.rawJSON) : value;
  if (typeof number === 'number') return Number.isFinite(number) || encoding.leaveOut(at, 'a finite number');
  if (typeof value === 'string') return encoding.isText(value, at);
  return typeof value !== 'object' || value === null || encoding.isShallow(at);
}

/** Writes the content of a google.protobuf.Value: any JSON value; one member of the oneof is always there. */
function writeValue(encoding: Encoding, value: unknown, at: Position): void {
  const { writer } = encoding;
  if (value === null) writer.tag(VALUE.null, WireType.Varint).int32(0);
  else if (typeof value === 'number') writer.tag(VALUE.number, WireType.Bit64).double(value);
  // A Struct has doubles only; the json column keeps every digit.
  else if (isRawNumber(value)) writer.tag(VALUE.number, WireType.Bit64).double(Number(value.rawJSON));
  else if (typeof value === 'string') writer.tag(VALUE.string, WireType.LengthDelimited).string(value);
  else if (typeof value === 'boolean') writer.tag(VALUE.bool, WireType.Varint).bool(value);
  else if (Array.isArray(value)) writeList(encoding, value, at);
  else {
    writer.tag(VALUE.struct, WireType.LengthDelimited).fork();
    writeStruct(encoding, value as JsonObject, at);
    writer.join();
  }
}

function writeList(encoding: Encoding, values: readonly unknown[], at: Position): void {
  const { writer } = encoding;
  writer.tag(VALUE.list, WireType.LengthDelimited).fork();
  for (const [index, value] of values.entries()) {
    const itemAt = child(at, index);
    if (!isWritable(encoding, value ?? null, itemAt)) continue;
    writer.tag(LIST_VALUES, WireType.LengthDelimited).fork();
    writeValue(encoding, value ?? null, itemAt);
    writer.join();
  }
  writer.join();
}

export function readStruct(message: Uint8Array, at: Position): JsonObject {
  limitDecodingDepth(at);
  const members = new Map<string, JsonValue>();
  visitFields(message, (reader, number) => {
    if (number !== STRUCT_FIELDS) return false;
    const [key, value] = readEntry(reader.bytes(), at);
    members.set(key, value);
    return true;
  });
  return Object.fromEntries(members);
}

/** Both parts of a map entry may be left out when they are empty. */
function readEntry(message: Uint8Array, at: Position): [string, JsonValue] {
  let key = '';
  let value: Uint8Array = new Uint8Array();
  visitFields(message, (reader, number) => {
    if (number === ENTRY_KEY) key = reader.string(true);
    else if (number === ENTRY_VALUE) value = reader.bytes();
    else return false;
    return true;
  });
  return [key, readValue(value, child(at, key))];
}

function readValue(message: Uint8Array, at: Position): JsonValue {
  let value: JsonValue = null;
  visitFields(message, (reader, number) => {
    if (number === VALUE.null) value = reader.int32() === 0 ? null : undecodable(at, 'an unknown kind of null');
    else if (number === VALUE.number) value = finite(reader.double(), at);
    else if (number === VALUE.string) value = reader.string(true);
    else if (number === VALUE.bool) value = reader.bool();
    else if (number === VALUE.struct) value = readStruct(reader.bytes(), at);
    else if (number === VALUE.list) value = readList(reader.bytes(), at);
    else return false;
    return true;
  });
  return value;
}

/** JSON has no text for the others, and no writer may store them. */
function finite(value: number, at: Position): number {
  return Number.isFinite(value) ? value : undecodable(at, 'a number that JSON cannot hold');
}

function readList(message: Uint8Array, at: Position): JsonValue[] {
  limitDecodingDepth(at);
  const values: JsonValue[] = [];
  visitFields(message, (reader, number) => {
    if (number !== LIST_VALUES) return false;
    values.push(readValue(reader.bytes(), child(at, values.length)));
    return true;
  });
  return values;
}
