// Tells of deleted objects that wait for the finalizer, which no reconciler takes off: metadata storage is off, or their kind
// is not ingested.
import type { KindDefinition } from '../../api/kind.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { EventRecorder } from '../../runtime/event-recorder.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { StrandedDeletions } from '../../sync/startup/stranded-deletions.ts';
import { createRecordEvent } from '../event-recorder.ts';
import { resourceOf } from '../kinds.ts';

const reasons = {
  StorageOff: {
    because: 'metadata storage is off',
    remedy: 'Switch it on, or run "ingester uninstall"',
  },
  KindNotIngested: {
    because: 'ingester.kinds does not name their kind',
    remedy: 'Add the kind to ingester.kinds, or take the finalizer off by hand',
  },
} as const;

interface Tools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, 'record'>;
}

export function lookForStranded(
  kinds: readonly KindDefinition[],
  reason: keyof typeof reasons,
  { client, clock, logger, metrics, events }: Tools,
): Runnable {
  const { because, remedy } = reasons[reason];
  const note = `The deletion waits: ${because}, so nothing stores the final state and takes michelangelo/Ingester off. ${remedy}`;
  const recorders = new Map(kinds.map((kind) => [kind, createRecordEvent(kind, { metrics: metrics.sync, events })]));
  for (const { kind } of kinds) metrics.coverage.deletionsWithoutStorage(kind, 0);
  const stranded = new StrandedDeletions({
    client,
    clock,
    logger,
    because,
    kinds: kinds.map((kind) => ({ kind, resource: resourceOf(kind) })),
    onStranded: (kind, object) => recorders.get(kind)?.(object, reason, note),
    onCounted: ({ kind }, count) => metrics.coverage.deletionsWithoutStorage(kind, count),
  });
  return { name: 'look for deletions that wait', run: (stop) => stranded.run(stop) };
}
