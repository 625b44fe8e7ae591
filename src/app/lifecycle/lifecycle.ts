// The lifecycle controller: installs and upgrades what Ingester resources specify. It needs no database: what touches one
// runs in a Job, with the Secrets that the resource names.
import { repositoryOf } from '../../api/ingester/permitted.ts';
import { INGESTER_GROUP, INGESTER_KIND } from '../../api/ingester/spec.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import { untilAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { Informer } from '../../kube/informer.ts';
import { pods } from '../../kube/resources.ts';
import { IdentityStore } from '../../kube/store.ts';
import { childKinds, jobs } from '../../lifecycle/children/kinds.ts';
import { Canary } from '../../lifecycle/reconcile/canary.ts';
import { MigrationRecord } from '../../lifecycle/reconcile/migration-record.ts';
import { ingesters, LifecycleReconciler } from '../../lifecycle/reconcile/reconciler.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { removeRegistrationWithNamespace } from '../../query/registration.ts';
import { Controller } from '../../runtime/controller.ts';
import { enqueueForObject, enqueueForOwner } from '../../runtime/handler.ts';
import { Manager } from '../../runtime/manager.ts';
import { retryUpTo } from '../../runtime/rate-limiter.ts';
import { kindSource, type Source } from '../../runtime/source.ts';
import { createElector } from '../elector.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { createWatchdog, type ReadinessCheck, startHealth } from '../health.ts';
import { createClient } from '../kube-client.ts';

const WORKERS = 20;
/** A reconcile makes some twenty calls. */
const RECONCILE_TIMEOUT_MS = 60_000;
const LEASE = 'ingester-lifecycle';

export interface LifecycleRun {
  readonly signal: AbortSignal;
  /** Of the pod that this runs in. */
  readonly podName: string | undefined;
}

export async function runLifecycle(configuration: Configuration, logger: Logger, run: LifecycleRun): Promise<void> {
  const { signal, podName } = run;
  const clock = systemClock;
  const metrics = createMetrics();
  const client = createClient(configuration, clock, metrics);
  const elector = createElector(configuration, { clock, logger, metrics }, { lease: LEASE });
  const events = createEventRecorder({ client, clock, logger, metrics });
  const { namespace } = configuration.kubernetes;
  const watchdog = createWatchdog(clock, logger, metrics);
  const informers = watchForLifecycle({ client, clock, logger, namespace, watchdog });
  const record = new MigrationRecord({ client, logger });
  const canary = new Canary({ client, resource: ingesters, clock, logger });
  const repository = repositoryOfPod({ client, record, namespace, podName });
  const parts = { client, clock, events, metrics: metrics.lifecycle, record, canary, repository };
  const reconciler = new LifecycleReconciler(parts);
  const controller = new Controller({
    name: 'lifecycle',
    sources: informers.map(({ source }) => source),
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    maxConcurrentReconciles: WORKERS,
    retry: retryUpTo(configuration.ingester.requeuePeriod),
    reconcileTimeoutMs: RECONCILE_TIMEOUT_MS,
    reconcile: (key, context) => reconciler.reconcile(key, context),
    metrics: metrics.controllers.forController('lifecycle'),
    mayWork: () => elector?.election.leads() ?? true,
    clock,
    logger,
  });
  const health = await startHealth(configuration, {
    checks: lifecycleChecks(informers, watchdog),
    alive: { canary: () => canary.problem() },
    metrics,
    clock,
    logger,
  });
  logger.info({ healthPort: health.port }, 'Lifecycle controller started');
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add({ name: 'watchdog', group: 'server', run: (stop) => watchdog.run(stop) });
  manager.add(events);
  for (const { name, informer } of informers) {
    manager.add({ name: `watch ${name}`, group: 'cache', run: (stop) => informer.run(stop) });
  }
  manager.add({ name: 'canary', run: (stop) => canary.run(stop) });
  manager.add({ name: 'lifecycle', run: (stop) => controller.run(stop) });
  await manager.run(signal);
  await removeRegistrationWithNamespace({ client, clock, logger });
  await Promise.all([client.close(), elector?.close()]);
  logger.info({}, 'Lifecycle controller stopped');
}

/** The repository of this pod's image; read until it is known, and recorded for admission. */
function repositoryOfPod({
  client,
  record,
  namespace,
  podName,
}: {
  readonly client: KubeClient;
  readonly record: MigrationRecord;
  readonly namespace: string;
  readonly podName: string | undefined;
}): () => Promise<string | undefined> {
  const ask = async (): Promise<string | undefined> => {
    const one = { namespace, fieldSelector: `metadata.name=${podName ?? ''}`, limit: 1 };
    const { items } = await client.list(pods, one, AbortSignal.timeout(RECONCILE_TIMEOUT_MS));
    const containers: unknown = valueAt(items[0]?.parse(), ['spec', 'containers']);
    const image: unknown = Array.isArray(containers) ? valueAt(containers[0], ['image']) : undefined;
    return typeof image === 'string' ? repositoryOf(image) : undefined;
  };
  let known: string | undefined;
  return async () => {
    if (podName !== undefined) known ??= await ask();
    await record.writeRepository(namespace, known);
    return known;
  };
}

// What the lifecycle controller watches.

interface WatchedResource {
  readonly resource: Resource;
  readonly owned: boolean;
}

/** What triggers a reconcile; a reconcile reads everything anew. */
const watched: readonly WatchedResource[] = [
  { resource: ingesters, owned: false },
  { resource: childKinds.deployment.resource, owned: true },
  { resource: childKinds.service.resource, owned: true },
  { resource: jobs, owned: true },
];

interface LifecycleWatch {
  readonly name: string;
  readonly informer: Informer;
  readonly source: Source;
}

interface WatchParts {
  readonly client: Pick<KubeClient, 'list' | 'newest' | 'watch'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly namespace: string;
  readonly watchdog: Watchdog;
}

export function watchForLifecycle(parts: WatchParts): readonly LifecycleWatch[] {
  return watched.map((each) => informerOf(each, parts));
}

/** No traffic depends on this readiness: it shows whether the controller can do its work. */
export function lifecycleChecks(
  watching: readonly Pick<LifecycleWatch, 'name' | 'informer'>[],
  watchdog: Watchdog,
): Readonly<Record<string, ReadinessCheck>> {
  const lists = watching.map(({ name, informer }) => {
    const check = (): string | undefined => {
      if (!informer.installed) return 'the CRD is not installed';
      return informer.synced ? undefined : 'the first list is not complete';
    };
    return [`watch-${name}`, check] as const;
  });
  return { progress: () => watchdog.problem, ...Object.fromEntries(lists) };
}

function informerOf({ resource, owned }: WatchedResource, parts: WatchParts): LifecycleWatch {
  const { client, clock, logger, namespace, watchdog } = parts;
  const name = resource.plural;
  const selection = { namespace, ...(owned ? { labelSelector: INGESTER_LABEL } : {}) };
  const informer = new Informer({
    client,
    resource,
    store: new IdentityStore(),
    clock,
    logger,
    selection,
    watchdog,
  });
  watchdog.prepare([`list ${name}`, `watch ${name}`]);
  const handler = owned ? enqueueForOwner({ group: INGESTER_GROUP, kind: INGESTER_KIND }) : enqueueForObject();
  return { name, informer, source: kindSource({ name, informer: () => informer, handler }) };
}
