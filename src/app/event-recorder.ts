import { hostname } from 'node:os';
import type { KindDefinition } from '../api/kind.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { SyncMetrics } from '../metrics/sync.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';
import { eventReasons, meaningOf, type RecordEvent } from '../sync/events.ts';

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

/** Counts every event of objects of the kind, and writes those that have a type to Kubernetes. */
export function createRecordEvent(
  kind: KindDefinition,
  parts: { readonly metrics: SyncMetrics; readonly events: Pick<EventRecorder, 'record'> },
): RecordEvent {
  const { metrics, events } = parts;
  metrics.prepare(kind.kind, eventReasons);
  return (object, reason, note) => {
    metrics.event(kind.kind, reason);
    const { type, action } = meaningOf(reason);
    if (type !== undefined) events.record(object, { type, reason, action, note });
  };
}
