import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { within } from '../../base/within.ts';

/**
 * For an answer to a validating rule, connecting included: inside the 4.5 seconds that the shipped registration leaves,
 * so that the rule can still say what it does without one.
 */
const ANSWER_MS = 3500;

export interface Asking {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** For the log: what could not be asked, and what follows from it. */
  readonly failure: string;
  /** Further fields of that line. */
  readonly about?: Readonly<Record<string, unknown>>;
}

/** The answer; `unknown` where none comes in time or the question fails. */
export async function ask<T, U>(
  { clock, logger, signal, failure, about }: Asking,
  unknown: U,
  question: (signal: AbortSignal) => Promise<T>,
): Promise<T | U> {
  try {
    return await within({ clock, timeoutMs: ANSWER_MS, signal }, question, () => unknown);
  } catch (error) {
    logger.warn({ ...about, err: error }, failure);
    return unknown;
  }
}
