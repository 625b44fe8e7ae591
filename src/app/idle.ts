// The reconciler without metadata storage: it stores nothing and changes nothing, which is a valid way to be deployed. But
// an object that still has the finalizer must not wait without a word when it is deleted.
import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isAborted, untilAborted } from '../base/abort.ts';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeconfigError } from '../kube/errors.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import { Manager } from '../runtime/manager.ts';
import type { Witness } from '../sync/notice.ts';
import { StrandedDeletions } from '../sync/stranded-deletions.ts';
import { parseAddress } from './address.ts';
import { createElector } from './elector.ts';
import { createEventRecorder } from './event-recorder.ts';
import { startHealthServer } from './health.ts';
import { everyKind, resourceOf } from './kinds.ts';
import { createClient } from './kube-client.ts';
import { createWitness } from './witness.ts';

const PERIOD_MS = 30_000;

const WHY =
  'The deletion waits: metadata storage is off, so nothing stores the final state and takes michelangelo/Ingester off. Switch it on, or run "ingester drain"';

export async function runIdle(
  configuration: Configuration,
  logger: Logger,
  { signal, lease }: { readonly signal: AbortSignal; readonly lease: string },
): Promise<void> {
  const clock = systemClock;
  const metrics = createMetrics();
  const address = parseAddress('health.bindAddress', configuration.health.bindAddress);
  const health = await startHealthServer(address, { idle: () => undefined }, metrics.registry);
  logger.info(
    { healthPort: health.port },
    'Metadata storage not configured, skipping ingester setup. Set metadataStorage.enableMetadataStorage to true to ingest.',
  );
  const client = clientOf(configuration, { clock, logger, metrics });
  const elector = client && createElector(configuration, { clock, logger, metrics }, lease);
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  if (client !== undefined) {
    const events = createEventRecorder({ client, clock, logger, metrics });
    const parts = { client, clock, logger, metrics, events, configuration };
    manager.add(events);
    manager.add({ name: 'look for deletions that wait', run: (stop) => tellOfStranded(parts, stop) });
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
    logger.warn({ err: error }, 'Objects that wait for metadata storage cannot be told of');
    return undefined;
  }
}

/** Logs changes only: what is as it was is in the metrics and the events. */
async function tellOfStranded(
  parts: Tools & {
    readonly client: KubeClient;
    readonly events: Pick<EventRecorder, 'record'>;
    readonly configuration: Configuration;
  },
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, logger, metrics, events, configuration } = parts;
  const { kinds } = configuration.ingester;
  // Of a kind that is not configured objects may be guarded from before; an optional one need not be permitted.
  const looked = everyKind(configuration).filter(({ kind, optional }) => !optional || kinds.includes(kind));
  const witnesses = new Map<KindDefinition, Witness>();
  const counts = new Map<KindDefinition, number>();
  for (const kind of looked) {
    witnesses.set(kind, createWitness(kind, { metrics: metrics.sync, events }));
    metrics.coverage.deletionsWithoutStorage(kind.kind, 0);
  }
  const stranded = new StrandedDeletions({
    client,
    kinds: looked.map((kind) => ({ kind, resource: resourceOf(kind) })),
    onStranded: (kind, object) => witnesses.get(kind)?.(asKind(kind, object), 'StorageOff', WHY),
    onCounted: (kind, count) => {
      metrics.coverage.deletionsWithoutStorage(kind.kind, count);
      if (count !== (counts.get(kind) ?? 0)) {
        const level = count === 0 ? 'info' : 'warn';
        logger[level](
          { kind: kind.kind, count },
          'Objects that are being deleted wait, because metadata storage is off',
        );
      }
      counts.set(kind, count);
    },
  });
  let failure = '';
  while (!isAborted(signal)) {
    try {
      await stranded.look(signal);
      failure = '';
    } catch (error) {
      const message = messageOf(error);
      if (message !== failure && !isAborted(signal)) {
        logger.warn({ err: error }, 'Objects that wait for metadata storage cannot be listed; trying again');
      }
      failure = message;
    }
    await sleep(clock, PERIOD_MS, signal);
  }
}

/** Lists of metadata say what they are lists of, not what the objects are. */
function asKind({ kind }: KindDefinition, object: KubernetesObject): KubernetesObject {
  return { ...object, apiVersion: `${GROUP}/${VERSION}`, kind };
}
