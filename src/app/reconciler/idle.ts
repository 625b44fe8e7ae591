// The reconciler without metadata storage: it stores nothing and changes nothing, which is a valid way to be deployed. But
// a deleted object that still has the finalizer must not wait silently.
import { untilAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeconfigError } from '../../kube/errors.ts';
import { createMetrics, type Metrics } from '../../metrics/metrics.ts';
import { Manager } from '../../runtime/manager.ts';
import { createElector } from '../elector.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { startHealth } from '../health.ts';
import { everyKind } from '../kinds.ts';
import { createClient } from '../kube-client.ts';
import { lookForStranded } from './stranded.ts';

export async function runIdle(
  configuration: Configuration,
  logger: Logger,
  { signal, lease }: { readonly signal: AbortSignal; readonly lease: string },
): Promise<void> {
  const clock = systemClock;
  const metrics = createMetrics();
  const health = await startHealth(configuration, { checks: { idle: () => undefined }, metrics, clock, logger });
  logger.info(
    { healthPort: health.port },
    'Metadata storage not configured, skipping ingester setup. Set metadataStorage.enableMetadataStorage to true to ingest.',
  );
  const client = clientOf(configuration, { clock, logger, metrics });
  const elector = client && createElector(configuration, { clock, logger, metrics }, { lease });
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  if (client !== undefined) {
    const events = createEventRecorder({ client, clock, logger, metrics });
    manager.add(events);
    // Of a kind that is not configured objects may be guarded from before; an optional one need not be permitted.
    const looked = everyKind().filter(({ kind, optional }) => !optional || configuration.ingester.kinds.includes(kind));
    manager.add(lookForStranded(looked, 'StorageOff', { client, clock, logger, metrics, events }));
  }
  await manager.run(signal);
  await Promise.all([client?.close(), elector?.close()]);
}

interface Tools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Undefined without a connection to Kubernetes: to be idle takes none. */
function clientOf(configuration: Configuration, { clock, logger, metrics }: Tools): KubeClient | undefined {
  try {
    return createClient(configuration, clock, metrics);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    logger.warn({ err: error }, 'Cannot record events on objects that wait for metadata storage');
    return undefined;
  }
}
