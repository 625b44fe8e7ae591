// The reconciler role: one informer, queue and set of workers per kind, over one API client and one database pool.
import type { KindDefinition } from '../api/kind.ts';
import { findKind } from '../api/kinds.ts';
import { GROUP, VERSION } from '../api/names.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { storageEnabled } from '../config/gates.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { HttpKubeClient } from '../kube/http/http-client.ts';
import { Informer } from '../kube/informer.ts';
import { Controller } from '../runtime/controller.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { lenientEncoder } from '../sync/encode.ts';
import { ObjectReconciler } from '../sync/reconciler.ts';
import { parseAddress } from './address.ts';
import { type ReadinessCheck, startHealthServer } from './health.ts';
import { mysqlOptions } from './mysql-options.ts';
import { aborted } from './signals.ts';
import { StorageMonitor } from './storage-monitor.ts';

interface KindLoop {
  readonly kind: KindDefinition;
  readonly informer: Informer;
  readonly controller: Controller;
}

interface Parts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
}

/** How often the database is asked whether it can be used, at most. */
const MONITOR_MS = 5000;

export async function runReconciler(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  if (!storageEnabled(configuration)) {
    await runIdle(configuration, logger, signal);
    return;
  }
  const clock = systemClock;
  const client = new HttpKubeClient(configuration.kubernetes, clock);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), clock);
  const parts: Parts = { client, storage, clock, logger, configuration };
  const loops = kindsOf(configuration).map((kind) => createLoop(kind, parts));
  const usable = Promise.withResolvers<undefined>();
  const monitor = createMonitor(parts, loops, () => usable.resolve(undefined));
  const health = await startHealthServer(parseAddress('health.bindAddress', configuration.health.bindAddress), {
    storage: () => monitor.problem,
    ...informerChecks(loops),
  });
  logger.info({ kinds: loops.length, healthPort: health.port }, 'Reconciler started');
  const running = [monitor.run(signal), ...loops.map(({ informer }) => informer.run(signal))];
  await Promise.race([usable.promise, aborted(signal)]);
  await Promise.all([...running, ...loops.map(({ controller }) => controller.run(signal))]);
  await Promise.all([client.close(), storage.close(), health.close()]);
  logger.info({}, 'Reconciler stopped');
}

/** Without metadata storage there is nothing to do, which is a valid way to be deployed. */
async function runIdle(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  const health = await startHealthServer(parseAddress('health.bindAddress', configuration.health.bindAddress), {
    idle: () => undefined,
  });
  logger.info(
    { healthPort: health.port },
    'Metadata storage not configured, skipping ingester setup. Set metadataStorage.enableMetadataStorage to true to ingest.',
  );
  await aborted(signal);
  await health.close();
}

function kindsOf(configuration: Configuration): readonly KindDefinition[] {
  return configuration.ingester.kinds.map(findKind).filter((kind) => kind !== undefined);
}

function createLoop(kind: KindDefinition, parts: Parts): KindLoop {
  const { client, storage, clock, configuration } = parts;
  const { ingester } = configuration;
  const logger = parts.logger.child({ controller: `ingester_${kind.kind}` });
  const resource = { group: GROUP, version: VERSION, plural: kind.plural };
  const informer = new Informer({ client, resource, clock, logger, onChange: (key) => controller.enqueue(key) });
  const reconciler = new ObjectReconciler({
    kind,
    resource,
    getObject: (key) => informer.get(key),
    client,
    storage,
    encode: lenientEncoder(logger),
    evictImmutableKinds: ingester.evictImmutableKinds,
    clock,
    logger,
  });
  const controller: Controller = new Controller({
    name: `ingester_${kind.kind}`,
    workers: ingester.concurrentReconcilesMap[kind.kind] ?? ingester.concurrentReconciles,
    requeuePeriodMs: ingester.requeuePeriodMap[kind.kind] ?? ingester.requeuePeriod,
    reconcile: (key) => reconciler.reconcile(key),
    clock,
    logger,
  });
  return { kind, informer, controller };
}

function createMonitor(parts: Parts, loops: readonly KindLoop[], onUsable: () => void): StorageMonitor {
  const { storage, clock, logger, configuration } = parts;
  return new StorageMonitor({
    storage,
    kinds: loops.map(({ kind }) => kind),
    periodMs: Math.min(MONITOR_MS, configuration.ingester.requeuePeriod),
    clock,
    logger,
    onRecovered: () => {
      onUsable();
      for (const { controller } of loops) controller.retryFailed();
    },
  });
}

function informerChecks(loops: readonly KindLoop[]): Readonly<Record<string, ReadinessCheck>> {
  return Object.fromEntries(
    loops.map(({ kind, informer }) => [
      `watch-${kind.plural}`,
      () => {
        if (!informer.installed) return 'the CRD is not installed';
        return informer.synced ? undefined : 'the first list is not complete';
      },
    ]),
  );
}
