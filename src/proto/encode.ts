// JSON of a Kubernetes object to protobuf bytes. The JSON stays the truth: members that the definitions do not know are
// left out here and live on in the stored JSON. Equal objects give equal bytes, but bytes are not for change detection:
// the original writes maps in random order and zero values that this encoder leaves out.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { JsonObject } from '../base/json.ts';
import type { FieldDescriptor } from './descriptor.ts';
import { Encoding, type OnLeftOut, refuseLeftOut } from './left-out.ts';
import { findMessage, type MessageType, rootMessage } from './message-type.ts';
import { child, memberOf, type Position, ROOT, sortedKeys } from './position.ts';
import { type Native, type ScalarCodec, scalarCodec } from './scalar.ts';
import { wellKnownType } from './well-known.ts';

/**
 * The bytes of the kind's root message. A value that does not fit its definition is left out alone, item of a list or
 * entry of a map, and so is a field without a definition; `onLeftOut` is told of each. Without one, a value that does not
 * fit is a ProtoEncodingError. Throws ProtoUnknownKindError for a kind without a definition.
 */
export function encodeObject(
  kind: string,
  object: Readonly<Record<string, unknown>>,
  onLeftOut: OnLeftOut = refuseLeftOut,
): Uint8Array {
  const type = rootMessage(kind);
  const writer = takeWriter();
  const encoding = new Encoding(writer, onLeftOut);
  const root = encoding.objectAt(object, ROOT) ?? {};
  for (const field of type.fields) {
    // In JSON the type's fields, apiVersion and kind, are members of the object itself.
    if (field.name !== 'typeMeta') writeMember(encoding, field, root, ROOT);
    else writeContent(encoding, field, () => writeFields(encoding, contentType(field), root, ROOT));
  }
  for (const name of Object.keys(root)) {
    if (!ROOT_MEMBERS.has(name)) encoding.leaveOut(child(ROOT, name), undefined);
  }
  const bytes = writer.finish();
  if (bytes.length <= KEPT_BYTES) spare = writer;
  return bytes;
}

const ROOT_MEMBERS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/** A writer begins with little room and doubles it again and again. One that was used has the room of its last object. */
let spare: BinaryWriter | undefined;
const KEPT_BYTES = 64 * 1024;

/** Gives the caller a writer of its own: one that fails half-way does not return it. */
function takeWriter(): BinaryWriter {
  const writer = spare ?? new BinaryWriter();
  spare = undefined;
  return writer;
}

function writeMessage(encoding: Encoding, type: MessageType, object: JsonObject, at: Position): void {
  for (const name of Object.keys(object)) {
    if (!type.jsonNames.has(name)) encoding.leaveOut(child(at, name), undefined);
  }
  writeFields(encoding, type, object, at);
}

function writeFields(encoding: Encoding, type: MessageType, object: JsonObject, at: Position): void {
  const others = othersOfOneofs(encoding, type, object, at);
  for (const field of type.fields) {
    if (!others.has(field)) writeMember(encoding, field, object, at);
  }
}

const NONE: ReadonlySet<FieldDescriptor> = new Set();

/** Members of a oneof beside the one that is written: the last that has a value. The original keeps any one of them. */
function othersOfOneofs(
  encoding: Encoding,
  type: MessageType,
  object: JsonObject,
  at: Position,
): ReadonlySet<FieldDescriptor> {
  if (type.oneofs.length === 0) return NONE;
  const others = type.oneofs.flatMap((members) => {
    const present = members.filter((field) => valueOf(object, field) !== undefined);
    if (present.length === 0 || !members.some((field) => isNull(object, field) || present.indexOf(field) > 0))
      return [];
    const names = Object.keys(object);
    const order = (field: FieldDescriptor): number =>
      Math.max(names.lastIndexOf(field.name), names.lastIndexOf(field.protoName));
    const last = present.reduce((left, right) => (order(right) > order(left) ? right : left));
    const expected = `only one of ${members.map((field) => field.name).join(', ')}`;
    for (const field of present) if (field !== last) encoding.leaveOut(child(at, field.name), expected);
    return members.filter((field) => field !== last);
  });
  return others.length === 0 ? NONE : new Set(others);
}

function writeMember(encoding: Encoding, field: FieldDescriptor, object: JsonObject, parent: Position): void {
  if (field.inline === true) {
    writeInline(encoding, field, object, parent);
    return;
  }
  // A oneof whose only member is null has the zero value of that member, as in the original.
  const value = valueOf(object, field) ?? (isNull(object, field) ? scalarCodec(field)?.zero : undefined);
  if (value === undefined) return;
  const at = child(parent, field.name);
  if (field.label === 'repeated') writeRepeated(encoding, field, value, at);
  else if (field.label === 'map') writeMap(encoding, field, value, at);
  else writeSingle(encoding, field, value, at);
}

/** Both spellings are accepted; the JSON name wins over the proto name where both are there. */
function valueOf(object: JsonObject, field: FieldDescriptor): unknown {
  return memberOf(object, field.name) ?? memberOf(object, field.protoName);
}

function isNull(object: JsonObject, field: FieldDescriptor): boolean {
  return field.oneof !== undefined && Object.hasOwn(object, field.name) && object[field.name] === null;
}

/** The members lie in the object around, as Kubernetes has them, or under the name of the field, as the original does. */
function writeInline(encoding: Encoding, field: FieldDescriptor, object: JsonObject, parent: Position): void {
  const type = contentType(field);
  const nested = memberOf(object, field.name);
  if (nested !== undefined) {
    const at = child(parent, field.name);
    const inner = encoding.objectAt(nested, at);
    if (inner !== undefined) {
      const around = Object.entries(object).filter(([name]) => type.jsonNames.has(name));
      const merged = around.length === 0 ? inner : { ...Object.fromEntries(around), ...inner };
      writeContent(encoding, field, () => writeMessage(encoding, type, merged, at));
      return;
    }
  }
  if (!type.fields.some((member) => member.inline === true || valueOf(object, member) !== undefined)) return;
  writeContent(encoding, field, () => writeFields(encoding, type, object, parent));
}

function contentType(field: FieldDescriptor): MessageType {
  return (field.type === 'message' ? findMessage(field.of) : undefined) ?? EMPTY;
}

const EMPTY: MessageType = { fields: [], byNumber: new Map(), oneofs: [], jsonNames: new Set() };

function writeSingle(encoding: Encoding, field: FieldDescriptor, value: unknown, at: Position): void {
  const codec = scalarCodec(field);
  if (codec === undefined) {
    writeMessageField(encoding, field, value, at);
    return;
  }
  const native = parse(encoding, codec, value, at);
  if (native === undefined) return;
  const hasPresence = field.oneof !== undefined || field.label === 'optional';
  if (hasPresence || !codec.isZero(native)) codec.write(encoding.writer.tag(field.number, codec.wire), native);
}

function writeRepeated(encoding: Encoding, field: FieldDescriptor, value: unknown, at: Position): void {
  if (!Array.isArray(value)) {
    encoding.leaveOut(at, 'an array');
    return;
  }
  const { writer } = encoding;
  const values: readonly unknown[] = value;
  const codec = scalarCodec(field);
  if (codec === undefined) {
    values.forEach((item, index) => writeMessageField(encoding, field, item, child(at, index)));
    return;
  }
  const natives = values
    .map((item, index) => parse(encoding, codec, item ?? codec.zero, child(at, index)))
    .filter((native) => native !== undefined);
  if (codec.wire === WireType.LengthDelimited || field.unpacked === true) {
    for (const native of natives) codec.write(writer.tag(field.number, codec.wire), native);
  } else if (natives.length > 0) {
    writer.tag(field.number, WireType.LengthDelimited).fork();
    for (const native of natives) codec.write(writer, native);
    writer.join();
  }
}

function writeMap(encoding: Encoding, field: FieldDescriptor, value: unknown, at: Position): void {
  const object = encoding.objectAt(value, at);
  if (object === undefined) return;
  for (const key of sortedKeys(object)) {
    const item = object[key];
    const itemAt = child(at, key);
    if (item === undefined || !encoding.isText(key, itemAt, 'a key')) continue;
    const content = entryContent(encoding, field, item, itemAt);
    if (content === undefined) continue;
    encoding.writer.tag(field.number, WireType.LengthDelimited).fork();
    encoding.writer.tag(1, WireType.LengthDelimited).string(key);
    content();
    encoding.writer.join();
  }
}

/** What writes the value of an entry; null stands for the zero value, as in the original. */
function entryContent(
  encoding: Encoding,
  field: FieldDescriptor,
  item: unknown,
  at: Position,
): (() => void) | undefined {
  const codec = scalarCodec(field);
  const value = { ...field, number: 2 };
  if (codec === undefined) {
    if (item === null) return () => undefined;
    const write = preparedMessage(encoding, field, item, at);
    return write && (() => writeContent(encoding, value, write));
  }
  const native = parse(encoding, codec, item ?? codec.zero, at);
  return native === undefined ? undefined : () => codec.write(encoding.writer.tag(2, codec.wire), native);
}

function writeMessageField(encoding: Encoding, field: FieldDescriptor, value: unknown, at: Position): void {
  const write = preparedMessage(encoding, field, value, at);
  if (write !== undefined) writeContent(encoding, field, write);
}

/** What writes the content of a message; undefined where the value is left out. */
function preparedMessage(
  encoding: Encoding,
  field: FieldDescriptor,
  value: unknown,
  at: Position,
): (() => void) | undefined {
  const wellKnown = field.type === 'message' ? wellKnownType(field.of) : undefined;
  if (wellKnown !== undefined) return wellKnown.prepare(encoding, value, at);
  const object = encoding.objectAt(value, at);
  return object && (() => writeMessage(encoding, contentType(field), object, at));
}

/** A message field: tag, length and content. */
function writeContent(encoding: Encoding, field: FieldDescriptor, write: () => void): void {
  encoding.writer.tag(field.number, WireType.LengthDelimited).fork();
  write();
  encoding.writer.join();
}

function parse(encoding: Encoding, codec: ScalarCodec<Native>, value: unknown, at: Position): Native | undefined {
  const native = codec.parse(value);
  if (native === undefined) encoding.leaveOut(at, codec.expected);
  return native;
}
