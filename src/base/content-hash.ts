import { sha256Hex } from './hash.ts';
import { canonicalJson } from './json.ts';

/** SHA-256 of the value's JSON with sorted keys: MySQL's JSON type keeps the content but not the order. */
export function contentHash(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}
