// The lifecycle controller: brings about what Ingester resources ask for. Needs no database; whatever touches one runs in
// a Job, with the Secrets that the resource names.
import { repositoryOf } from '../api/ingester/permitted.ts';
import { untilAborted } from '../base/abort.ts';
import { systemClock } from '../base/clock.ts';
import { valueAt } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { Canary } from '../lifecycle/canary.ts';
import { pods } from '../lifecycle/children/kinds.ts';
import { MigratedMemory } from '../lifecycle/migrated-memory.ts';
import { ingesters, LifecycleReconciler } from '../lifecycle/reconciler.ts';
import { Controller } from '../runtime/controller.ts';
import { Manager } from '../runtime/manager.ts';
import { parseAddress } from './address.ts';
import { createElector } from './elector.ts';
import { createEventRecorder } from './event-recorder.ts';
import { startHealthServer } from './health.ts';
import { createClient } from './kube-client.ts';
import { lifecycleChecks, watchForLifecycle } from './lifecycle-watches.ts';
import { removeRegistrationWithNamespace } from './registration.ts';
import { createWatchdog } from './watchdog.ts';

const WORKERS = 20;
/** A pass makes some twenty calls. */
const PASS_TIMEOUT_MS = 60_000;
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
  const { namespace } = configuration.control;
  const watchdog = createWatchdog(clock, logger, metrics);
  const informers = watchForLifecycle({ client, clock, logger, namespace, watchdog });
  const memory = new MigratedMemory({ client, logger });
  const canary = new Canary({ client, resource: ingesters, clock, logger });
  const repository = repositoryOfPod({ client, memory, namespace, podName });
  const parts = { client, clock, events, metrics: metrics.lifecycle, memory, canary, repository };
  const reconciler = new LifecycleReconciler(parts);
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
  const health = await startHealthServer(
    parseAddress('health.bindAddress', configuration.health.bindAddress),
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

/** Where the image of this pod is from; asked until it is known, and then written down for admission. */
function repositoryOfPod({
  client,
  memory,
  namespace,
  podName,
}: {
  readonly client: KubeClient;
  readonly memory: MigratedMemory;
  readonly namespace: string;
  readonly podName: string | undefined;
}): () => Promise<string | undefined> {
  const ask = async (): Promise<string | undefined> => {
    const one = { namespace, fieldSelector: `metadata.name=${podName ?? ''}`, limit: 1 };
    const { items } = await client.list(pods, one, AbortSignal.timeout(PASS_TIMEOUT_MS));
    const containers: unknown = valueAt(items[0], ['spec', 'containers']);
    const image: unknown = Array.isArray(containers) ? valueAt(containers[0], ['image']) : undefined;
    return typeof image === 'string' ? repositoryOf(image) : undefined;
  };
  let known: string | undefined;
  return async () => {
    if (podName !== undefined) known ??= await ask();
    await memory.rememberRepository(namespace, known);
    return known;
  };
}
