import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { canonicalJson, isJsonObject, type JsonObject } from '../base/json.ts';
import { limitEncodingDepth, objectAt, undecodable } from './checks.ts';
import { child, type Position } from './position.ts';
import { visitFields } from './wire-fields.ts';

/** A message whose only field holds the text of a JSON object that the definitions do not look into. */
export interface OpaqueJson {
  write(writer: BinaryWriter, value: unknown, at: Position): void;
  read(message: Uint8Array, at: Position): JsonObject;
}

export function opaqueJson(fieldNumber: number): OpaqueJson {
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
