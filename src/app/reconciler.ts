// The reconciler role: one informer, queue and set of workers per kind, over one API client and one database pool.

import type { KindDefinition } from '../api/kind.ts';
import { findKind } from '../api/kinds.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { untilAborted } from '../base/abort.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { storageEnabled } from '../config/gates.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { Informer } from '../kube/informer.ts';
import { IdentityStore } from '../kube/store.ts';
import { Controller } from '../runtime/controller.ts';
import { enqueueForObject } from '../runtime/handler.ts';
import { Manager } from '../runtime/manager.ts';
import { resourceVersionChanged } from '../runtime/predicate.ts';
import { kindSource } from '../runtime/source.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { lenientEncoder } from '../sync/encode.ts';
import { ObjectReconciler } from '../sync/reconciler.ts';
import { parseAddress } from './address.ts';
import { createElector } from './elector.ts';
import { type ReadinessCheck, startHealthServer } from './health.ts';
import { createClient } from './kube-client.ts';
import { mysqlOptions } from './mysql-options.ts';
import { StorageMonitor } from './storage-monitor.ts';

interface KindLoop {
  readonly kind: KindDefinition;
  readonly informer: Informer<IdentityStore>;
  readonly controller: Controller;
}

interface Parts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
  readonly metrics: Metrics;
  /** False as soon as another process may lead. */
  readonly mayWork: () => boolean;
}

/** How often the database is asked whether it can be used, at most. */
const MONITOR_MS = 5000;

export async function runReconciler(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  if (!storageEnabled(configuration)) {
    await runIdle(configuration, logger, signal);
    return;
  }
  const clock = systemClock;
  const metrics = createMetrics();
  const client = createClient(configuration, clock, metrics);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), clock);
  const elector = createElector(configuration, { clock, logger, metrics });
  const mayWork = (): boolean => elector?.election.leads() ?? true;
  const parts: Parts = { client, storage, clock, logger, configuration, metrics, mayWork };
  const loops = kindsOf(configuration).map((kind) => createLoop(kind, parts));
  const usable = Promise.withResolvers<undefined>();
  const monitor = createMonitor(parts, loops, () => usable.resolve(undefined));
  const health = await startHealthServer(
    parseAddress('health.bindAddress', configuration.health.bindAddress),
    { storage: () => monitor.problem, ...informerChecks(loops) },
    metrics.registry,
  );
  logger.info({ kinds: loops.length, healthPort: health.port }, 'Reconciler started');
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add({ name: 'storage monitor', group: 'always', run: (stop) => monitor.run(stop) });
  for (const { kind, informer, controller } of loops) {
    manager.add({ name: `watch ${kind.plural}`, group: 'cache', run: (stop) => informer.run(stop) });
    // Without a usable database every reconcile would fail; the objects wait in the informer instead.
    const work = async (stop: AbortSignal): Promise<void> => {
      await Promise.race([usable.promise, untilAborted(stop)]);
      await controller.run(stop);
    };
    manager.add({ name: `reconcile ${kind.plural}`, group: 'leader', run: work });
  }
  await manager.run(signal);
  await Promise.all([client.close(), storage.close(), elector?.close()]);
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
  await untilAborted(signal);
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
  const store = new IdentityStore();
  const informer = new Informer({ client, resource, store, clock, logger });
  const reconciler = new ObjectReconciler({
    kind,
    resource,
    getObject: (key) => latest(client, resource, store, key),
    client,
    storage,
    encode: lenientEncoder(logger),
    evictImmutableKinds: ingester.evictImmutableKinds,
    clock,
    logger,
  });
  const controller = new Controller({
    name: `ingester_${kind.kind}`,
    sources: [
      kindSource({
        name: kind.plural,
        informer: () => informer,
        handler: enqueueForObject(),
        predicates: [resourceVersionChanged],
      }),
    ],
    // A CRD may be installed long after this program was.
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    maxConcurrentReconciles: ingester.concurrentReconcilesMap[kind.kind] ?? ingester.concurrentReconciles,
    retry: { baseMs: 250, capMs: ingester.requeuePeriodMap[kind.kind] ?? ingester.requeuePeriod },
    reconcile: async (key) => {
      const seen = store.get(key)?.metadata.resourceVersion;
      const result = await reconciler.reconcile(key);
      if (result.kind === 'done' && seen !== undefined) store.release(key, seen);
      return result;
    },
    metrics: parts.metrics.controllers.forController(`ingester_${kind.kind}`),
    mayWork: parts.mayWork,
    clock,
    logger,
  });
  return { kind, informer, controller };
}

/** The held object, else what the API server says: objects dealt with are kept by identity only. */
async function latest(
  client: KubeClient,
  resource: Resource,
  store: IdentityStore,
  key: string,
): Promise<KubernetesObject | undefined> {
  const held = store.get(key);
  if (held !== undefined || !store.has(key)) return held;
  const [namespace = '', name = ''] = key.split('/');
  try {
    return await client.get({ resource, namespace, name });
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
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
