import { sha256Hex } from '../base/hash.ts';
import { ContinueInvalidError } from './errors.ts';
import { type ListQuery, ordersOf } from './list-query.ts';

/** Where the last page ended: the values it is ordered by, and the uid. */
export interface Position {
  readonly values: readonly (string | number | null)[];
  readonly uid: string;
}

/** Opaque to callers; carries a digest of the query, because the position means nothing in another one. */
export function encodeContinue(query: ListQuery, { values, uid }: Position): string {
  return Buffer.from(JSON.stringify([digestOf(query), uid, ...values])).toString('base64url');
}

export function decodeContinue(query: ListQuery): Position | undefined {
  if (query.continue === undefined) return undefined;
  const parts = parse(query.continue);
  if (!Array.isArray(parts)) throw new ContinueInvalidError();
  const [digest, uid, ...values] = parts as readonly unknown[];
  const valid = values.length === ordersOf(query).length && values.every(isValue);
  if (digest !== digestOf(query) || typeof uid !== 'string' || !valid) throw new ContinueInvalidError();
  return { values, uid };
}

function isValue(value: unknown): value is string | number | null {
  return value === null || typeof value === 'string' || typeof value === 'number';
}

function parse(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    // Whatever it is, it is none of our tokens.
    return undefined;
  }
}

function digestOf(query: ListQuery): string {
  const { namespace, labels, where, deleted, states } = query;
  return sha256Hex(JSON.stringify([namespace, labels, where, ordersOf(query), deleted, states])).slice(0, 16);
}
