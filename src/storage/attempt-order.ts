// Which of two attempts at a task is the newer one. An attempt is text that whoever starts tasks makes up. Where it ends
// in a number, the number orders the attempts that begin alike; other attempts are ordered by who came first.

/** The part before the number at the end, and the number; no number where the text does not end in one. */
export interface AttemptParts {
  readonly prefix: string;
  readonly number: number | undefined;
}

/** What was recorded of the attempts before, as far as it says something about this one. */
export interface KnownAttempts {
  /** This very attempt at this task: never seen, the one that may write, or one that another took the place of. */
  readonly seen: 'never' | 'current' | 'former';
  /** The highest number that was seen behind the same prefix, at any task. */
  readonly highest: number | undefined;
}

/** `again`: the same attempt once more, as when its pod was restarted. */
export type AttemptVerdict = 'newer' | 'again' | 'stale';

/** More digits than this are not exact in JavaScript, and are read as text. */
const MOST_DIGITS = 15;

export function partsOf(attempt: string): AttemptParts {
  const digits = /\d+$/.exec(attempt)?.[0] ?? '';
  if (digits === '' || digits.length > MOST_DIGITS) return { prefix: attempt, number: undefined };
  return { prefix: attempt.slice(0, -digits.length), number: Number(digits) };
}

/** An attempt that another took the place of never comes back, and none with a lower number begins after a higher one. */
export function judgeAttempt({ number }: AttemptParts, { seen, highest }: KnownAttempts): AttemptVerdict {
  if (seen === 'former') return 'stale';
  if (number !== undefined && highest !== undefined && number < highest) return 'stale';
  return seen === 'current' ? 'again' : 'newer';
}
