import type { KindDefinition } from '../api/kind.ts';
import { CodedError } from '../base/errors.ts';
import { contentHash } from '../base/hash.ts';
import { isJsonObject } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { encodeObject } from '../proto/encode.ts';
import type { ResealedRow, SealedRow } from '../storage/mysql/tasks/rotate.ts';
import { resealObject, type SensitiveValues } from '../storage/sensitive.ts';

/** The row with its sensitive values sealed by the current key; undefined where it is so already. */
export function resealRow(kind: KindDefinition, row: SealedRow, sensitive: SensitiveValues): ResealedRow | undefined {
  const object = parseLossless(row.json);
  if (!isJsonObject(object)) return undefined;
  const resealed = resealObject(kind, object, sensitive);
  if (resealed === object) return undefined;
  const sealed = { json: JSON.stringify(resealed), contentHash: contentHash(resealed) };
  try {
    return {
      ...sealed,
      proto: row.proto.length === 0 ? row.proto : encodeObject(kind.kind, resealed, () => undefined),
    };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...sealed, proto: new Uint8Array() };
  }
}
