// The reconciler role: one informer, queue and set of workers per kind, over one API client and one database pool.

import { untilAborted } from '../base/abort.ts';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import type { Watchdog } from '../base/watchdog.ts';
import { storageEnabled } from '../config/gates.ts';
import type { Configuration } from '../config/schema.ts';
import { Manager } from '../runtime/manager.ts';
import { MysqlMetadataStorage, WRITE_WORK } from '../storage/mysql/mysql-storage.ts';
import { parseAddress } from './address.ts';
import { createAdoption, guardChecks } from './adoption-loop.ts';
import { createAuditLoop } from './audit-loop.ts';
import { type DrainWatch, watchDrainMarker } from './drain-watch.ts';
import { createElector, leaseName } from './elector.ts';
import { createEventRecorder } from './event-recorder.ts';
import { type ReadinessCheck, startHealthServer } from './health.ts';
import { letHeapGrow } from './heap.ts';
import { runIdle } from './idle.ts';
import { createLoop, informerChecks, type KindLoop, type Parts } from './kind-loop.ts';
import { kindsOf } from './kinds.ts';
import { createClient } from './kube-client.ts';
import { createMemory } from './memory.ts';
import { mysqlOptions } from './mysql-options.ts';
import { createPositionLoop } from './position-loop.ts';
import { sensitiveValues } from './sensitive.ts';
import { StorageMonitor } from './storage-monitor.ts';
import { createSyncParts } from './sync-parts.ts';
import { addSyncRunnables } from './sync-runnables.ts';
import { createWatchdog } from './watchdog.ts';

/** How often the database is asked whether it can be used, at most. */
const MONITOR_MS = 5000;

/** What a reconciler can be asked to do; as one process or as several. */
export const syncControllers = ['sync', 'audit'] as const;
export type SyncController = (typeof syncControllers)[number];

export interface ReconcilerRun {
  readonly signal: AbortSignal;
  /** All of them unless given. */
  readonly controllers?: ReadonlySet<SyncController>;
}

export async function runReconciler(configuration: Configuration, logger: Logger, run: ReconcilerRun): Promise<void> {
  const { signal, controllers = new Set(syncControllers) } = run;
  if (!storageEnabled(configuration)) {
    await runIdle(configuration, logger, { signal, lease: leaseName(configuration.leaderElection.name, controllers) });
    return;
  }
  letHeapGrow();
  const clock = systemClock;
  const metrics = createMetrics();
  const watchdog = createWatchdog(clock, logger, metrics);
  const client = createClient(configuration, clock, metrics);
  const storage = createStorage(configuration, clock, metrics, watchdog);
  const lease = leaseName(configuration.leaderElection.name, controllers);
  const elector = createElector(configuration, { clock, logger, metrics }, lease);
  const mayWork = (): boolean => elector?.election.leads() ?? true;
  const sensitive = sensitiveValues(configuration);
  const drain = watchDrainMarker({ client, clock, logger, configuration, watchdog }, () => adoption.enqueueAll());
  const mayGuard = (): 'yes' | 'no' | 'unknown' => guarding(drain);
  const mayMark = (): boolean => mayGuard() !== 'no';
  const events = createEventRecorder({ client, clock, logger, metrics });
  const late: { monitor?: StorageMonitor } = {};
  const common = { client, storage, clock, logger, configuration, metrics, events, sensitive, watchdog };
  const sync = createSyncParts({ ...common, away: () => late.monitor?.away });
  const parts: Parts = { ...common, memory: createMemory(), sync, mayWork, mayMark, mayGuard };
  const loops = kindsOf(configuration).map((kind) => createLoop(kind, parts));
  const adoption = createAdoption(loops, parts);
  const usable = Promise.withResolvers<undefined>();
  const monitor = createMonitor(parts, loops, () => usable.resolve(undefined));
  late.monitor = monitor;
  const health = await startHealthServer(
    parseAddress('health.bindAddress', configuration.health.bindAddress),
    readinessChecks(monitor, loops, watchdog),
    metrics.registry,
  );
  logger.info({ kinds: loops.length, healthPort: health.port }, 'Reconciler started');
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add({ name: 'watchdog', group: 'server', run: (stop) => watchdog.run(stop) });
  manager.add(events);
  manager.add({ name: 'storage monitor', group: 'always', run: (stop) => monitor.run(stop) });
  manager.add(drain.runnable);
  for (const loop of loops) {
    const { kind, informer } = loop;
    manager.add({ name: `watch ${kind.plural}`, group: 'cache', run: (stop) => informer.run(stop) });
    if (controllers.has('sync')) addLoop(manager, loop, parts, usable.promise);
  }
  if (controllers.has('audit')) manager.add(createAuditLoop(loops, parts));
  if (controllers.has('sync')) {
    manager.add(createPositionLoop(loops, parts));
    manager.add({ name: 'guard the unguarded', run: (stop) => adoption.controller.run(stop) });
    addSyncRunnables(manager, parts, loops, monitor);
  }
  await manager.run(signal);
  await Promise.all([client.close(), storage.close(), elector?.close()]);
  logger.info({}, 'Reconciler stopped');
}

function readinessChecks(
  monitor: StorageMonitor,
  loops: readonly KindLoop[],
  watchdog: Watchdog,
): Readonly<Record<string, ReadinessCheck>> {
  const shared = { storage: () => monitor.problem, progress: () => watchdog.problem };
  return { ...shared, ...informerChecks(loops), ...guardChecks(loops) };
}

/** Counts what does not fit its indexed column, and lets the watchdog see the writes. */
function createStorage(
  configuration: Configuration,
  clock: Clock,
  { sync }: Metrics,
  watchdog: Watchdog,
): MysqlMetadataStorage {
  for (const { kind, indexes } of kindsOf(configuration)) {
    sync.prepareColumns(kind, [...indexes.flat().map(({ name }) => name), 'json']);
  }
  watchdog.prepare([WRITE_WORK]);
  return new MysqlMetadataStorage(mysqlOptions(configuration), clock, undefined, {
    onUnfit: ({ kind }, columns) => sync.unfit(kind, columns),
    watchdog,
  });
}

/**
 * Without a usable database every reconcile would fail; the objects wait in the informer until `usable`. Where they may
 * be released without it, they wait no longer than that takes.
 */
function addLoop(manager: Manager, loop: KindLoop, parts: Parts, usable: Promise<undefined>): void {
  const { kind, controller, guard } = loop;
  const { clock, configuration, sync } = parts;
  const { policy, releaseAfter } = configuration.outage;
  const work = async (stop: AbortSignal): Promise<void> => {
    guard.begin();
    const longest = policy === 'release' ? [sleep(clock, releaseAfter, stop)] : [];
    const answers = await Promise.race([usable.then(() => true), untilAborted(stop), ...longest]);
    await Promise.race([sync.control.loaded, untilAborted(stop)]);
    if (answers === true) await guard.startByDifference(controller, stop);
    await Promise.all([controller.run(stop), guard.repairMissedDeletes()]);
  };
  manager.add({ name: `reconcile ${kind.plural}`, run: work });
}

function guarding(drain: DrainWatch): 'yes' | 'no' | 'unknown' {
  const phase = drain.phase();
  if (phase === undefined) return 'unknown';
  return phase === 'active' ? 'yes' : 'no';
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
