import { sha256Hex } from '../base/hash.ts';
import { ContinueInvalidError, QueryUnsupportedError } from './errors.ts';
import { type ListQuery, MAX_LIMIT, ordersOf } from './list-query.ts';

/** Most rows of one page of identities or tombstones. */
const MAX_IDENTITIES = 10_000;
const MAX_BACKFILL = 500;

/** The limit of a page whose rows are small, or an error that says what is allowed. */
export function identityLimit(limit: number): number {
  return within(limit, MAX_IDENTITIES);
}

/** The limit of a page of whole objects, likewise. */
export function objectLimit(limit: number): number {
  return within(limit, MAX_LIMIT);
}

/** The rows of one page of a back-fill, likewise. */
export function backfillLimit(limit: number): number {
  return within(limit, MAX_BACKFILL);
}

function within(limit: number, most: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new QueryUnsupportedError(`a limit that is not from 1 to ${most}`, []);
}

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
    // Not a token of ours.
    return undefined;
  }
}

function digestOf(query: ListQuery): string {
  const { namespace, labels, annotations, where, deleted, states } = query;
  return sha256Hex(JSON.stringify([namespace, labels, annotations, where, ordersOf(query), deleted, states])).slice(
    0,
    16,
  );
}
