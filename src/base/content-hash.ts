import { sha256Hex } from './hash.ts';
import { canonicalJson, hasSortedKeys } from './json.ts';

/**
 * SHA-256 of the value's JSON with sorted keys: MySQL's JSON type keeps the content but not the order. `text` is the
 * value's JSON as it is, where the caller has it.
 */
export function contentHash(value: unknown, text?: string): string {
  return sha256Hex(text !== undefined && hasSortedKeys(value) ? text : canonicalJson(value));
}
