// The lifecycle controller: brings about what Ingester resources ask for. Needs no database; whatever touches one runs in
// a Job, with the Secrets that the resource names.
import { INGESTER_KIND } from '../api/ingester.ts';
import { GROUP, INGESTER_LABEL } from '../api/names.ts';
import { untilAborted } from '../base/abort.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import { IdentityStore } from '../kube/store.ts';
import { Canary } from '../lifecycle/canary.ts';
import { childKinds, jobs } from '../lifecycle/children/kinds.ts';
import { MigratedMemory } from '../lifecycle/migrated-memory.ts';
import { ingesters, LifecycleReconciler } from '../lifecycle/reconciler.ts';
import { Controller } from '../runtime/controller.ts';
import { enqueueForObject, enqueueForOwner } from '../runtime/handler.ts';
import { Manager } from '../runtime/manager.ts';
import { kindSource, type Source } from '../runtime/source.ts';
import { parseAddress } from './address.ts';
import { createElector } from './elector.ts';
import { createEventRecorder } from './event-recorder.ts';
import { startHealthServer } from './health.ts';
import { createClient } from './kube-client.ts';

const WORKERS = 20;
/** A pass makes some twenty calls. */
const PASS_TIMEOUT_MS = 60_000;
const LEASE = 'ingester-lifecycle';

export async function runLifecycle(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const metrics = createMetrics();
  const client = createClient(configuration, clock, metrics);
  const leaderElection = { ...configuration.leaderElection, name: LEASE };
  const elector = createElector({ ...configuration, leaderElection }, { clock, logger, metrics });
  const events = createEventRecorder({ client, clock, logger, metrics });
  const { namespace } = configuration.control;
  const informers = watched.map((each) => informerOf(each, { client, logger, namespace }));
  const memory = new MigratedMemory({ client, logger });
  const canary = new Canary({ client, resource: ingesters, clock, logger });
  const reconciler = new LifecycleReconciler({ client, clock, events, metrics: metrics.lifecycle, memory, canary });
  const controller = new Controller({
    name: 'lifecycle',
    sources: informers.map(({ source }) => source),
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    maxConcurrentReconciles: WORKERS,
    retry: { baseMs: 250, capMs: configuration.ingester.requeuePeriod },
    reconcileTimeoutMs: PASS_TIMEOUT_MS,
    reconcile: (key, context) => reconciler.reconcile(key, context),
    metrics: metrics.controllers.forController('lifecycle'),
    mayWork: () => elector?.election.leads() ?? true,
    clock,
    logger,
  });
  const checks = Object.fromEntries(
    informers.map(({ name, informer }) => [
      `watch-${name}`,
      () =>
        !informer.installed
          ? 'the CRD is not installed'
          : informer.synced
            ? undefined
            : 'the first list is not complete',
    ]),
  );
  const health = await startHealthServer(
    parseAddress('health.bindAddress', configuration.health.bindAddress),
    checks,
    metrics.registry,
    { canary: () => canary.problem() },
  );
  logger.info({ healthPort: health.port }, 'Lifecycle controller started');
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add(events);
  for (const { name, informer } of informers) {
    manager.add({ name: `watch ${name}`, group: 'cache', run: (stop) => informer.run(stop) });
  }
  manager.add({ name: 'canary', run: (stop) => canary.run(stop) });
  manager.add({ name: 'lifecycle', run: (stop) => controller.run(stop) });
  await manager.run(signal);
  await Promise.all([client.close(), elector?.close()]);
  logger.info({}, 'Lifecycle controller stopped');
}

interface Watched {
  readonly resource: Resource;
  readonly owned: boolean;
}

/** What wakes a pass; a pass reads everything anew. */
const watched: readonly Watched[] = [
  { resource: ingesters, owned: false },
  { resource: childKinds.deployment.resource, owned: true },
  { resource: childKinds.service.resource, owned: true },
  { resource: jobs, owned: true },
];

interface Watching {
  readonly name: string;
  readonly informer: Informer<IdentityStore>;
  readonly source: Source;
}

interface WatchParts {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly namespace: string;
}

function informerOf({ resource, owned }: Watched, { client, logger, namespace }: WatchParts): Watching {
  const name = resource.plural;
  const selection = { namespace, ...(owned ? { labelSelector: INGESTER_LABEL } : {}) };
  const informer = new Informer({
    client,
    resource,
    store: new IdentityStore(),
    clock: systemClock,
    logger,
    selection,
  });
  const handler = owned
    ? enqueueForOwner({ group: GROUP, kind: INGESTER_KIND, scope: 'namespaced', match: 'controller' })
    : enqueueForObject();
  return { name, informer, source: kindSource({ name, informer: () => informer, handler }) };
}
