// What keeps a process busy, counted: so that a test can prove that what it started is gone.

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** Timers, sockets, servers, child processes by type, and listeners on the process by event. */
export function openHandles(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1;
  for (const event of process.eventNames()) counts[`on ${String(event)}`] = process.listenerCount(event);
  return counts;
}

const STEADY_MS = 1000;

/** The same, once nothing has come or gone for a second: processes and connections take their time to end. */
export async function steadyHandles(): Promise<Readonly<Record<string, number>>> {
  for (let before = openHandles(); ; ) {
    await delay(STEADY_MS);
    const now = openHandles();
    if (isDeepStrictEqual(before, now)) return now;
    before = now;
  }
}
