// The reconciler role: one informer, queue and set of workers per kind, over one API client and one database pool.

import { untilAborted } from '../../base/abort.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import { storageEnabled } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { Manager } from '../../runtime/manager.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { ContinuousAudit } from '../../sync/audit/continuous-audit.ts';
import { lenientEncoder } from '../../sync/row.ts';
import { checkDefinitions } from '../../sync/startup/definitions.ts';
import { usualLimits } from '../../sync/startup/mark-missed-deletes.ts';
import { recordPositions } from '../../sync/startup/position.ts';
import { StorageMonitor } from '../../sync/status/storage-monitor.ts';
import { createElector, leaseName } from '../elector.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { createWatchdog, type ReadinessCheck, startHealth } from '../health.ts';
import { everyKind, kindsOf } from '../kinds.ts';
import { createClient } from '../kube-client.ts';
import { sensitiveValues } from '../sensitive.ts';
import { startTracing } from '../tracing.ts';
import { createFinalizerSweep, finalizerChecks } from './finalizer-sweep-loop.ts';
import { runIdle } from './idle.ts';
import { createLoop, informerChecks, type KindLoop, type Parts } from './kind-loop.ts';
import { collectAtRest, createByteBudgets, letHeapGrow } from './memory.ts';
import { createStorage } from './storage.ts';
import { lookForStranded } from './stranded.ts';
import { createSyncParts } from './sync-parts.ts';
import { addSyncRunnables } from './sync-runnables.ts';
import { type UninstallWatch, watchUninstallMarker } from './uninstall-watch.ts';

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
    await runIdle(configuration, logger, { signal, lease: leaseName(controllers) });
    return;
  }
  letHeapGrow();
  const clock = systemClock;
  const metrics = createMetrics();
  const tracer = await startTracing({ role: 'reconciler', clock, logger, metrics });
  const watchdog = createWatchdog(clock, logger, metrics);
  const client = createClient(configuration, clock, metrics, tracer);
  const seen = { client, clock, logger, metrics, tracer, watchdog };
  const { storage, sameDatabase } = createStorage(configuration, seen, () => readAnew(loops));
  const elector = createElector(configuration, { clock, logger, metrics }, leaseName(controllers));
  const mayWork = (): boolean => elector?.election.leads() ?? true;
  const sensitive = sensitiveValues(configuration);
  const uninstall = watchUninstallMarker({ ...seen, configuration }, () => finalizerSweep.enqueueAll());
  const mayAddFinalizer = (): 'yes' | 'no' | 'unknown' => finalizersAllowed(uninstall);
  const mayMark = (): boolean => mayAddFinalizer() !== 'no';
  const events = createEventRecorder({ client, clock, logger, metrics });
  const late: { monitor?: StorageMonitor } = {};
  const common = { ...seen, storage, configuration, events, sensitive };
  const sync = createSyncParts({ ...common, away: () => late.monitor?.away });
  const parts: Parts = { ...common, byteBudgets: createByteBudgets(), sync, mayWork, mayMark, mayAddFinalizer };
  const loops = kindsOf(configuration).map((kind) => createLoop(kind, parts));
  const finalizerSweep = createFinalizerSweep(loops, parts);
  const usable = Promise.withResolvers<undefined>();
  const monitor = createMonitor(parts, loops, () => usable.resolve(undefined));
  late.monitor = monitor;
  const checks = readinessChecks(monitor, loops, watchdog);
  const health = await startHealth(configuration, { checks, metrics, clock, logger });
  logger.info({ kinds: loops.length, healthPort: health.port }, 'Reconciler started');
  const manager = new Manager({ clock, logger, ...(elector === undefined ? {} : { election: elector.election }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add({ name: 'watchdog', group: 'server', run: (stop) => watchdog.run(stop) });
  manager.add({ name: 'memory', group: 'server', run: (stop) => collectAtRest(clock, stop) });
  manager.add(events);
  manager.add({ name: 'storage monitor', group: 'always', run: (stop) => monitor.run(stop) });
  manager.add(sameDatabase);
  manager.add(uninstall.runnable);
  const definitions = { client, clock, logger, kinds: loops.map(({ kind }) => kind) };
  manager.add({ name: 'definitions', group: 'always', run: (stop) => checkDefinitions(definitions, stop) });
  // An optional kind need not be permitted.
  const left = everyKind().filter(({ kind, optional }) => !optional && !configuration.ingester.kinds.includes(kind));
  if (left.length > 0) manager.add(lookForStranded(left, 'KindNotIngested', parts));
  for (const loop of loops) {
    const { kind, informer } = loop;
    manager.add({ name: `watch ${kind.plural}`, group: 'cache', run: (stop) => informer.run(stop) });
    if (controllers.has('sync')) addLoop(manager, loop, parts, usable.promise);
  }
  if (controllers.has('audit')) manager.add(createAuditLoop(loops, parts));
  if (controllers.has('sync')) {
    manager.add({ name: 'positions', run: (stop) => recordPositions(loops, parts, stop) });
    manager.add({ name: 'finalizer sweep', run: (stop) => finalizerSweep.controller.run(stop) });
    addSyncRunnables(manager, parts, loops, monitor);
  }
  await manager.run(signal);
  await Promise.all([client.close(), storage.close().then(() => tracer?.close()), elector?.close()]);
  logger.info({}, 'Reconciler stopped');
}

function readinessChecks(
  monitor: StorageMonitor,
  loops: readonly KindLoop[],
  watchdog: Watchdog,
): Readonly<Record<string, ReadinessCheck>> {
  const shared = { storage: () => monitor.problem, progress: () => watchdog.problem };
  return { ...shared, ...informerChecks(loops), ...finalizerChecks(loops) };
}

/** What was read before rows may have been set back is not written after it. */
function readAnew(loops: readonly KindLoop[]): void {
  for (const { informer } of loops) informer.store.releaseAll();
}

/**
 * Without a usable database every reconcile would fail; the objects wait in the informer until `usable`. Where their
 * finalizers may be removed without it, they wait no longer than that takes.
 */
function addLoop(manager: Manager, loop: KindLoop, parts: Parts, usable: Promise<undefined>): void {
  const { kind, controller, completeness } = loop;
  const { clock, configuration, sync } = parts;
  const { policy, removeFinalizerAfter } = configuration.outage;
  const work = async (stop: AbortSignal): Promise<void> => {
    completeness.begin();
    const longest = policy === 'remove-finalizer' ? [sleep(clock, removeFinalizerAfter, stop)] : [];
    const answers = await Promise.race([usable.then(() => true), untilAborted(stop), ...longest]);
    await Promise.race([sync.control.loaded, untilAborted(stop)]);
    await completeness.run(controller, { asksMysql: answers === true }, stop);
  };
  manager.add({ name: `reconcile ${kind.plural}`, run: work });
}

function finalizersAllowed(uninstall: UninstallWatch): 'yes' | 'no' | 'unknown' {
  const phase = uninstall.phase();
  if (phase === undefined) return 'unknown';
  return phase === 'active' ? 'yes' : 'no';
}

function createMonitor(parts: Parts, loops: readonly KindLoop[], onUsable: () => void): StorageMonitor {
  const { storage, clock, logger, configuration, metrics } = parts;
  const monitor = new StorageMonitor({
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
  metrics.storage.watch(() => ({ available: monitor.problem === undefined, connections: storage.connections }));
  return monitor;
}

export function createAuditLoop(loops: readonly KindLoop[], parts: Parts): Runnable {
  const { client, storage, sensitive, clock, configuration, mayMark } = parts;
  const logger = parts.logger.child({ controller: 'ingester_audit' });
  const kinds = loops.map(({ kind, resource }) => ({ kind, resource }));
  const targets = loops.map(({ kind, resource, informer, metrics }) => {
    const shared = { client, storage, sensitive, clock, encode: lenientEncoder(logger), limits: usualLimits, kinds };
    const options = { kind, resource, ...shared };
    return { options, metrics, isReady: () => informer.synced };
  });
  const audit = new ContinuousAudit({
    targets,
    periodMs: configuration.audit.period,
    mayRepair: mayMark,
    clock,
    logger,
  });
  return { name: 'audit', run: (signal) => audit.run(signal) };
}
