import { setTimeout as delay } from 'node:timers/promises';

const pollIntervalMs = 50;

/** Polls until `condition` holds; false when the time is over first. An abort of `signal` is thrown. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  const deadline = Date.now() + options.timeoutMs;
  while (Date.now() < deadline) {
    options.signal?.throwIfAborted();
    if (await condition()) return true;
    await delay(pollIntervalMs);
  }
  return false;
}
