import { QueryUnsupportedError } from './errors.ts';
import { MAX_LIMIT } from './list-query.ts';

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
