import { isJsonObject, type JsonObject } from '../base/json.ts';
import { ProtoDecodingError, ProtoEncodingError } from './errors.ts';
import { MAX_DEPTH, type Position, pathOf } from './position.ts';

export function unencodable(at: Position, expected: string): never {
  throw new ProtoEncodingError(pathOf(at), expected);
}

export function undecodable(at: Position, reason: string): never {
  throw new ProtoDecodingError(pathOf(at), reason);
}

/** The value as an object that is not nested too deep to go on. */
export function objectAt(value: unknown, at: Position): JsonObject {
  if (!isJsonObject(value)) return unencodable(at, 'an object');
  limitEncodingDepth(at);
  return value;
}

export function limitEncodingDepth(at: Position): void {
  if (at.depth > MAX_DEPTH) unencodable(at, `no more than ${MAX_DEPTH} nested levels`);
}

export function limitDecodingDepth(at: Position): void {
  if (at.depth > MAX_DEPTH) undecodable(at, `more than ${MAX_DEPTH} nested levels`);
}

/** An own member that is there: null means absent, as in all JSON of Kubernetes. */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** Keys in one order, so that equal maps give equal bytes. */
export function sortedKeys(object: JsonObject): readonly string[] {
  const keys = Object.keys(object);
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] ?? '') > (keys[index] ?? '')) return keys.sort();
  }
  return keys;
}
