import type { Logger } from '../base/logger.ts';

/** Aborted by the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopSignal(logger: Logger): AbortSignal {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(1);
    logger.info({ signal }, 'Stopping; a second signal ends the process at once');
    controller.abort();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return controller.signal;
}
