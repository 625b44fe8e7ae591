import { hash } from 'node:crypto';
import { canonicalJson, hasSortedKeys } from './json.ts';

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/**
 * SHA-256 of the value's JSON with sorted keys: MySQL's JSON type keeps the content but not the order. `text` is the
 * value's JSON as it is, where the caller has it.
 */
export function contentHash(value: unknown, text?: string): string {
  return sha256Hex(text !== undefined && hasSortedKeys(value) ? text : canonicalJson(value));
}
