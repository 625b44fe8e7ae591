import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';

/** Under which events are found: `kubectl get events -A --field-selector reportingController=michelangelo.api/ingester`. */
const CONTROLLER = 'michelangelo.api/ingester';

interface Parts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The events of this process; to be run by its manager. */
export function createEventRecorder({ client, clock, logger, metrics }: Parts): EventRecorder {
  const reporter = { controller: CONTROLLER, instance: hostname() };
  return new EventRecorder({ client, reporter, clock, logger, onDropped: () => metrics.events.dropped() });
}
