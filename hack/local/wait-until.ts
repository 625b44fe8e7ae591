import { setTimeout as delay } from 'node:timers/promises';

/** A question may cost a TLS handshake on both sides, so what takes long is asked for less often. */
const pollIntervalMs = { shortest: 50, longest: 250, shareOfElapsed: 0.05 } as const;

/** Polls until `condition` holds; false when the time is over first. An abort of `signal` is thrown. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  const started = Date.now();
  const deadline = started + options.timeoutMs;
  while (Date.now() < deadline) {
    options.signal?.throwIfAborted();
    if (await condition()) return true;
    const { shortest, longest, shareOfElapsed } = pollIntervalMs;
    await delay(Math.min(longest, Math.max(shortest, (Date.now() - started) * shareOfElapsed)));
  }
  return false;
}
