// The lifecycle controller: installs and upgrades what Ingester resources specify. It needs no database: what touches one
// runs in a Job, with the Secrets that the resource names.
import { repositoryOf } from '../../api/ingester/permitted.ts';
import { untilAborted } from '../../base/abort.ts';
import { systemClock } from '../../base/clock.ts';
import { valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { pods } from '../../kube/resources.ts';
import { Canary } from '../../lifecycle/reconcile/canary.ts';
import { MigrationRecord } from '../../lifecycle/reconcile/migration-record.ts';
import { ingesters, LifecycleReconciler } from '../../lifecycle/reconcile/reconciler.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { removeRegistrationWithNamespace } from '../../query/registration.ts';
import { Controller } from '../../runtime/controller.ts';
import { Manager } from '../../runtime/manager.ts';
import { retryUpTo } from '../../runtime/rate-limiter.ts';
import { createElector } from '../elector.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { createWatchdog, startHealthServer } from '../health.ts';
import { createClient } from '../kube-client.ts';
import { lifecycleChecks, watchForLifecycle } from './lifecycle-watches.ts';

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
  const elector = createElector(configuration, { clock, logger, metrics }, LEASE);
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
  const health = await startHealthServer(
    configuration.health.bindAddress,
    lifecycleChecks(informers, watchdog),
    metrics.registry,
    { canary: () => canary.problem() },
  );
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
