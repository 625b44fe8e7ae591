// JSON of a Kubernetes object to protobuf bytes. The JSON stays the truth: members that the definitions do not know are
// left out here and live on in the stored JSON. Equal objects give equal bytes, but bytes are not for change detection:
// the original writes maps in random order and zero values that this encoder leaves out.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { JsonObject } from '../base/json.ts';
import { memberOf, objectAt, sortedKeys, unencodable } from './checks.ts';
import type { FieldDescriptor } from './descriptor.ts';
import { findMessage, type MessageType, rootMessage } from './message-type.ts';
import { child, type Position, ROOT } from './position.ts';
import { type Native, type ScalarCodec, scalarCodec } from './scalar.ts';
import { wellKnownType } from './well-known.ts';

/**
 * The bytes of the kind's root message.
 * Throws ProtoEncodingError where a value does not fit its definition, ProtoUnknownKindError for a kind without one.
 */
export function encodeObject(kind: string, object: Readonly<Record<string, unknown>>): Uint8Array {
  const root = objectAt(object, ROOT);
  const writer = takeWriter();
  for (const field of rootMessage(kind).fields) {
    // In JSON the type's fields, apiVersion and kind, are members of the object itself.
    if (field.name === 'typeMeta') writeMessageField(writer, field, root, ROOT);
    else writeMember(writer, field, root, ROOT);
  }
  const bytes = writer.finish();
  if (bytes.length <= KEPT_BYTES) spare = writer;
  return bytes;
}

/** A writer begins with little room and doubles it again and again. One that was used has the room of its last object. */
let spare: BinaryWriter | undefined;
const KEPT_BYTES = 64 * 1024;

/** Gives the caller a writer of its own: one that fails half-way does not return it. */
function takeWriter(): BinaryWriter {
  const writer = spare ?? new BinaryWriter();
  spare = undefined;
  return writer;
}

function writeMessage(writer: BinaryWriter, type: MessageType, object: JsonObject, at: Position): void {
  for (const members of type.oneofs) refuseSeveral(members, object, at);
  for (const field of type.fields) writeMember(writer, field, object, at);
}

/** A reader would keep one of them and lose the others without a word. */
function refuseSeveral(members: readonly FieldDescriptor[], object: JsonObject, at: Position): void {
  const present = members.filter((field) => valueOf(object, field) !== undefined);
  if (present.length > 1) unencodable(at, `only one of ${members.map((field) => field.name).join(', ')}`);
}

function writeMember(writer: BinaryWriter, field: FieldDescriptor, object: JsonObject, parent: Position): void {
  const value = valueOf(object, field);
  if (value === undefined) return;
  const at = child(parent, field.name);
  if (field.label === 'repeated') writeRepeated(writer, field, value, at);
  else if (field.label === 'map') writeMap(writer, field, value, at);
  else writeSingle(writer, field, value, at);
}

/** Both spellings are accepted; the JSON name wins over the proto name where both are there. */
function valueOf(object: JsonObject, field: FieldDescriptor): unknown {
  return memberOf(object, field.name) ?? memberOf(object, field.protoName);
}

function writeSingle(writer: BinaryWriter, field: FieldDescriptor, value: unknown, at: Position): void {
  const codec = scalarCodec(field);
  if (codec === undefined) {
    writeMessageField(writer, field, value, at);
    return;
  }
  const native = parse(codec, value, at);
  const hasPresence = field.oneof !== undefined || field.label === 'optional';
  if (hasPresence || !codec.isZero(native)) codec.write(writer.tag(field.number, codec.wire), native);
}

function writeRepeated(writer: BinaryWriter, field: FieldDescriptor, value: unknown, at: Position): void {
  if (!Array.isArray(value)) unencodable(at, 'an array');
  const values: readonly unknown[] = value;
  const codec = scalarCodec(field);
  if (codec === undefined) {
    values.forEach((item, index) => writeMessageField(writer, field, item, child(at, index)));
    return;
  }
  const natives = values.map((item, index) => parse(codec, item, child(at, index)));
  if (codec.wire === WireType.LengthDelimited) {
    for (const native of natives) codec.write(writer.tag(field.number, codec.wire), native);
  } else if (natives.length > 0) {
    writer.tag(field.number, WireType.LengthDelimited).fork();
    for (const native of natives) codec.write(writer, native);
    writer.join();
  }
}

function writeMap(writer: BinaryWriter, field: FieldDescriptor, value: unknown, at: Position): void {
  const codec = scalarCodec(field);
  const object = objectAt(value, at);
  for (const key of sortedKeys(object)) {
    const item = object[key];
    if (item === undefined) continue;
    const itemAt = child(at, key);
    if (!key.isWellFormed()) unencodable(itemAt, 'a key of valid Unicode');
    writer.tag(field.number, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    if (codec === undefined) writeMessageField(writer, { ...field, number: 2 }, item, itemAt);
    else codec.write(writer.tag(2, codec.wire), parse(codec, item, itemAt));
    writer.join();
  }
}

/** A message field: tag, length and content. */
function writeMessageField(writer: BinaryWriter, field: FieldDescriptor, value: unknown, at: Position): void {
  writer.tag(field.number, WireType.LengthDelimited).fork();
  if (field.type === 'message') {
    const wellKnown = wellKnownType(field.of);
    const type = findMessage(field.of);
    if (wellKnown !== undefined) wellKnown.write(writer, value, at);
    else if (type !== undefined) writeMessage(writer, type, objectAt(value, at), at);
  }
  writer.join();
}

function parse(codec: ScalarCodec<Native>, value: unknown, at: Position): Native {
  return codec.parse(value) ?? unencodable(at, codec.expected);
}
