import type { KindDefinition } from '../api/kind.ts';
import { contentHash } from '../base/content-hash.ts';
import { messageOf } from '../base/errors.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { decodeObject } from '../proto/decode.ts';
import type { StoredObject } from '../storage/metadata-storage.ts';

/** What is wrong with what a row holds; undefined where it can be read and is what was written. */
export function unreadable(kind: KindDefinition, stored: StoredObject): string | undefined {
  return jsonProblem(stored) ?? protoProblem(kind, stored);
}

function jsonProblem(stored: StoredObject): string | undefined {
  let object: unknown;
  try {
    object = parseLossless(stored.json);
  } catch (error) {
    return `json: ${messageOf(error)}`;
  }
  if (!isJsonObject(object)) return 'json: not an object';
  const wrong = identityProblem(object, stored);
  if (wrong !== undefined) return `json: ${wrong}`;
  return contentHash(object) === stored.contentHash ? undefined : 'json: not the content that was written';
}

/** An object that does not fit the definitions is stored without its protobuf form. */
function protoProblem(kind: KindDefinition, stored: StoredObject): string | undefined {
  if (stored.proto.length === 0) return undefined;
  try {
    const wrong = identityProblem(decodeObject(kind.kind, stored.proto), stored);
    return wrong === undefined ? undefined : `proto: ${wrong}`;
  } catch (error) {
    return `proto: ${messageOf(error)}`;
  }
}

function identityProblem(object: unknown, stored: StoredObject): string | undefined {
  for (const field of ['uid', 'namespace', 'name'] as const) {
    if (valueAt(object, ['metadata', field]) !== stored[field]) return `the ${field} is that of another object`;
  }
  return undefined;
}
