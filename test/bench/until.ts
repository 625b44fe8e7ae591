import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../../src/base/errors.ts';

const POLL_MS = 20;

/** Resolves when the check holds, with the time it was seen to, in milliseconds since 1970. */
export async function until(
  check: () => Promise<boolean>,
  limitMs: number,
  what: string,
  pollMs: number = POLL_MS,
): Promise<number> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    if (await check()) return Date.now();
    if (Date.now() > deadline) throw new CodedError('BENCH_TIMEOUT', `Not reached within ${limitMs} ms: ${what}`);
    await delay(pollMs);
  }
}
