// Words of a denial. Argo CD, Flux and kubectl read some words in a refusal as "delete the object and create it
// again", which would lose what the denial protects. So they never appear, not even inside a value that is quoted.

import { oneLine } from '../review.ts';

/** Longest value that is shown: three of them and the sentence around them stay under 200 characters. */
const MAX_VALUE = 25;

const DANGEROUS = /immutable|conflict|invalid|already\s*exists|not\s*found/i;

/** A value from an object or a request, short, on one line, and harmless; "(hidden)" where it cannot be shown. */
export function quoted(value: unknown, maximum: number = MAX_VALUE): string {
  const text = typeof value === 'string' ? value : ((JSON.stringify(value) as string | undefined) ?? 'nothing');
  const line = oneLine(text, text.length);
  return DANGEROUS.test(line) ? '(hidden)' : oneLine(line, maximum);
}
