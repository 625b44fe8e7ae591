import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { Watchdog } from '../base/watchdog.ts';

/** What stalls is in the log and in the metrics; whether readiness says so too is for the role to decide. */
export function createWatchdog(clock: Clock, logger: Logger, metrics: Pick<Metrics, 'watchdog'>): Watchdog {
  const watchdog = new Watchdog({ clock, logger, onStalled: (work) => metrics.watchdog.stalled(work) });
  metrics.watchdog.follow(watchdog);
  return watchdog;
}
