import { untilAborted } from '../base/abort.ts';
import { CacheSyncTimeoutError } from './errors.ts';
import type { Source, SourceContext } from './source.ts';

export interface StartOptions {
  /** Name of the controller, for the error. */
  readonly controller: string;
  /** Infinity waits as long as it takes. */
  readonly timeoutMs: number;
}

/**
 * Starts the source and waits until it is synced. Throws CacheSyncTimeoutError when that takes too long. When the signal
 * is aborted meanwhile it just returns: a stop is no failure.
 */
export async function startSource(
  source: Source,
  context: SourceContext,
  options: StartOptions,
  signal: AbortSignal,
): Promise<void> {
  const { controller, timeoutMs } = options;
  // Everything that waits here listens to this signal, so that no listener stays on the long-lived one.
  const waiting = new AbortController();
  const stop = (): void => waiting.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let phase: 'blocks' | 'not-synced' = 'blocks';
  const late = Promise.withResolvers<never>();
  const expire = (): void => late.reject(new CacheSyncTimeoutError(controller, source.name, phase));
  const cancel = Number.isFinite(timeoutMs) ? context.clock.schedule(timeoutMs, expire) : undefined;
  const steps = async (): Promise<void> => {
    await source.start(context, signal);
    phase = 'not-synced';
    await source.waitForSync?.(waiting.signal);
  };
  try {
    await Promise.race([steps(), late.promise, untilAborted(waiting.signal)]);
  } finally {
    cancel?.();
    signal.removeEventListener('abort', stop);
    stop();
  }
}
