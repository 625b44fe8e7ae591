import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire';

/** Reads one field and returns true, or leaves the reader where it is and returns false for an unknown one. */
export type FieldVisitor = (reader: BinaryReader, number: number, wire: WireType) => boolean;

/** Walks the fields of one message. Unknown fields are skipped: a newer writer may know more. */
export function visitFields(message: Uint8Array, visit: FieldVisitor): void {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (!visit(reader, number, wire)) reader.skip(wire, number);
  }
}
