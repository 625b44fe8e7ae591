import type { KindDefinition } from '../api/kind.ts';
import type { SyncMetrics } from '../base/metrics-sync.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import { meaningOf, noticeReasons, type Witness } from '../sync/notice.ts';

/** Counts every notice about objects of the kind, and makes an event of those that are one. */
export function createWitness(
  kind: KindDefinition,
  parts: { readonly metrics: SyncMetrics; readonly events: Pick<EventRecorder, 'record'> },
): Witness {
  const { metrics, events } = parts;
  metrics.prepare(kind.kind, noticeReasons);
  return (object, reason, note) => {
    metrics.noticed(kind.kind, reason);
    const { type, action } = meaningOf(reason);
    if (type !== undefined) events.record(object, { type, reason, action, note });
  };
}
