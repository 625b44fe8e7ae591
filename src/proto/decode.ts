// Protobuf bytes to the JSON of a Kubernetes object, in the form the API server and the original's json column use.
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { CodedError, messageOf } from '../base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import type { FieldDescriptor } from './descriptor.ts';
import { ProtoDecodingError } from './errors.ts';
import { findMessage, type MessageType, rootMessage } from './message-type.ts';
import { child, limitDecodingDepth, type Position, ROOT, undecodable } from './position.ts';
import { type Native, type ScalarCodec, scalarCodec } from './scalar.ts';
import { wellKnownType } from './well-known.ts';
import { visitFields } from './wire-fields.ts';

/**
 * The object of a root message. Zero values are absent, as when the object was encoded; members come in the order of
 * their field numbers. Throws ProtoDecodingError for bytes that are not such a message.
 */
export function decodeObject(kind: string, bytes: Uint8Array): JsonObject {
  const type = rootMessage(kind);
  try {
    const { typeMeta, metadata, ...rest } = readMessage(type, bytes, ROOT);
    return {
      ...(isJsonObject(typeMeta) ? typeMeta : {}),
      ...(isJsonObject(metadata) ? { metadata: withNumbers(metadata) } : {}),
      ...rest,
    };
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw new ProtoDecodingError('object', messageOf(error), error);
  }
}

/** Object metadata is JSON of Kubernetes, where a 64-bit number is a number; protobuf's JSON has a string. */
function withNumbers(metadata: JsonObject): JsonObject {
  const numbers = ['generation', 'deletionGracePeriodSeconds']
    .filter((name) => Number.isSafeInteger(Number(metadata[name])))
    .map((name) => [name, Number(metadata[name])] as const);
  return { ...metadata, ...Object.fromEntries(numbers) };
}

/** What has been read of one message so far. A JavaScript map takes any key, `__proto__` too. */
type Values = Map<FieldDescriptor, JsonValue | Map<string, JsonValue>>;

function readMessage(type: MessageType, message: Uint8Array, at: Position): JsonObject {
  limitDecodingDepth(at);
  const values: Values = new Map();
  visitFields(message, (reader, number, wire) => {
    const field = type.byNumber.get(number);
    if (field === undefined) return false;
    readField(values, field, { reader, wire, at: child(at, field.name) });
    dropOthersOfOneof(values, field, type);
    return true;
  });
  return toObject(type, values);
}

/** The original's JSON parser refuses an Any without one. */
function isValueOfAny(field: FieldDescriptor, type: MessageType): boolean {
  return field.name === 'value' && type.fields[0]?.name === '@type';
}

function dropOthersOfOneof(values: Values, field: FieldDescriptor, type: MessageType): void {
  if (field.oneof === undefined) return;
  for (const other of type.fields) if (other.oneof === field.oneof && other !== field) values.delete(other);
}

function toObject(type: MessageType, values: Values): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const field of type.fields) {
    const value = values.get(field) ?? (isValueOfAny(field, type) ? '' : undefined);
    if (value !== undefined) members.push([field.name, value instanceof Map ? Object.fromEntries(value) : value]);
  }
  return Object.fromEntries(members);
}

interface Source {
  readonly reader: BinaryReader;
  readonly wire: WireType;
  readonly at: Position;
}

function readField(values: Values, field: FieldDescriptor, source: Source): void {
  const before = values.get(field);
  if (field.label === 'repeated') {
    const items = Array.isArray(before) ? before : [];
    readItems(items, field, source);
    if (items.length > 0) values.set(field, items);
  } else if (field.label === 'map') {
    values.set(field, readEntry(before instanceof Map ? before : new Map<string, JsonValue>(), field, source));
  } else {
    readSingle(values, field, source);
  }
}

/** The last one wins where a field comes twice. No writer of these messages splits one in two. */
function readSingle(values: Values, field: FieldDescriptor, source: Source): void {
  const codec = scalarCodec(field);
  if (codec === undefined) {
    const value = readContent(field, delimited(source), source.at);
    if (value !== undefined) values.set(field, value);
    return;
  }
  const native = readScalar(codec, source);
  const hasPresence = field.oneof !== undefined || field.label === 'optional';
  if (hasPresence || !codec.isZero(native)) values.set(field, codec.format(native));
  else values.delete(field);
}

function readItems(items: JsonValue[], field: FieldDescriptor, source: Source): void {
  const { reader, wire, at } = source;
  const codec = scalarCodec(field);
  if (codec === undefined) {
    items.push(readContent(field, delimited(source), child(at, items.length)) ?? null);
  } else if (wire === WireType.LengthDelimited && codec.wire !== wire) {
    const end = reader.uint32() + reader.pos;
    while (reader.pos < end) items.push(codec.format(codec.read(reader)));
    if (reader.pos !== end) undecodable(at, 'a packed list does not end where it says');
  } else {
    items.push(codec.format(readScalar(codec, source)));
  }
}

function readEntry(map: Map<string, JsonValue>, field: FieldDescriptor, source: Source): Map<string, JsonValue> {
  const codec = scalarCodec(field);
  let key = '';
  // Both parts of an entry may be left out when they are empty.
  let scalar: JsonValue | undefined = codec?.zero;
  let content: Uint8Array = new Uint8Array();
  visitFields(delimited(source), (reader, number, wire) => {
    if (number === 1) key = reader.string(true);
    else if (number !== 2) return false;
    else if (codec === undefined) content = delimited({ ...source, reader, wire });
    else scalar = codec.format(readScalar(codec, { ...source, reader, wire }));
    return true;
  });
  return map.set(key, scalar ?? readContent(field, content, child(source.at, key)) ?? null);
}

function readContent(field: FieldDescriptor, content: Uint8Array, at: Position): JsonValue | undefined {
  if (field.type !== 'message') return undefined;
  const wellKnown = wellKnownType(field.of);
  if (wellKnown !== undefined) return wellKnown.read(content, at);
  const type = findMessage(field.of);
  return type === undefined ? undefined : readMessage(type, content, at);
}

function readScalar(codec: ScalarCodec<Native>, { reader, wire, at }: Source): Native {
  return wire === codec.wire ? codec.read(reader) : undecodable(at, 'another type was written here');
}

function delimited({ reader, wire, at }: Source): Uint8Array {
  return wire === WireType.LengthDelimited ? reader.bytes() : undecodable(at, 'another type was written here');
}
