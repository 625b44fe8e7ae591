import { setTimeout as delay } from 'node:timers/promises';

/** Undefined where the call came out as it should; else what it was instead. */
export type Call = (index: number) => Promise<string | undefined>;

const PAUSE_MS = 10;

/**
 * Calls 100 times a second, one call not waiting for another, until the work is done and at least 100 calls have begun.
 * Resolves to what went wrong.
 */
export async function underLoad(call: Call, work: () => Promise<void>): Promise<readonly string[]> {
  const calls: Promise<string | undefined>[] = [];
  const load = { running: true };
  const working = work().finally(() => {
    load.running = false;
  });
  const started = Date.now();
  while (load.running || calls.length < 100) {
    calls.push(call(calls.length));
    await delay(Math.max(started + calls.length * PAUSE_MS - Date.now(), 0));
  }
  await working;
  return (await Promise.all(calls)).filter((wrong) => wrong !== undefined);
}
