import { sha256Hex } from '../base/hash.ts';
import { ContinueInvalidError } from './errors.ts';
import { type ListQuery, newestFirst } from './list-query.ts';

/** Where the last page ended: the value it is ordered by, and the uid. */
export interface Position {
  readonly value: string | number | null;
  readonly uid: string;
}

/** Opaque to callers; carries a digest of the query, because the position means nothing in another one. */
export function encodeContinue(query: ListQuery, { value, uid }: Position): string {
  return Buffer.from(JSON.stringify([digestOf(query), value, uid])).toString('base64url');
}

export function decodeContinue(query: ListQuery): Position | undefined {
  if (query.continue === undefined) return undefined;
  const parts = parse(query.continue);
  if (!Array.isArray(parts)) throw new ContinueInvalidError();
  const [digest, value, uid] = parts as readonly unknown[];
  const valid = value === null || typeof value === 'string' || typeof value === 'number';
  if (digest !== digestOf(query) || typeof uid !== 'string' || !valid) throw new ContinueInvalidError();
  return { value, uid };
}

function parse(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    // Whatever it is, it is none of our tokens.
    return undefined;
  }
}

function digestOf({ namespace, labels, where, order = newestFirst, deleted }: ListQuery): string {
  return sha256Hex(JSON.stringify([namespace, labels, where, order, deleted])).slice(0, 16);
}
