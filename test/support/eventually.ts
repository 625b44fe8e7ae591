import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Repeats the check until it does not throw; after the limit it throws what the check threw last. The limit is for what
 * never happens, not for what takes long: it is no claim about speed.
 */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = 90_000): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const started = performance.now();
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      // A check that takes long, like one with kubectl, takes processor time from what it waits for.
      await delay(100 + 2 * (performance.now() - started));
    }
  }
}

/** Fails when the check throws at any time within the period. */
export async function throughout(periodMs: number, check: () => void | Promise<void>): Promise<void> {
  const end = Date.now() + periodMs;
  while (Date.now() < end) {
    await check();
    await delay(200);
  }
  assert.ok(true);
}
