// The reconciler role: one informer, queue and set of workers per kind, over one API client and one database pool.

import { untilAborted } from '../../base/abort.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import { storageEnabled } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { Manager } from '../../runtime/manager.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { type AuditTarget, ContinuousAudit } from '../../sync/audit/continuous-audit.ts';
import { lenientEncoder } from '../../sync/row.ts';
import { checkDefinitions } from '../../sync/startup/definitions.ts';
import { usualLimits } from '../../sync/startup/mark-missed-deletes.ts';
import { storageWentBackAt } from '../../sync/status/storage-history.ts';
import { StorageMonitor } from '../../sync/status/storage-monitor.ts';
import { candidateOf, createElector, leaseName } from '../elector.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { createWatchdog, type ReadinessCheck, startHealth } from '../health.ts';
import { everyKind, inCluster, kindsOf } from '../kinds.ts';
import { createClient } from '../kube-client.ts';
import { sensitiveValues } from '../sensitive.ts';
import { startTracing } from '../tracing.ts';
import { CurrentWork } from './current-work.ts';
import { finalizerChecks } from './finalizer-sweep-loop.ts';
import { runIdle } from './idle.ts';
import { informerChecks, type Parts } from './kind-loop.ts';
import { createByteBudgets, keepMemoryLow, letHeapGrow } from './memory.ts';
import { createStorage } from './storage.ts';
import { lookForStranded } from './stranded.ts';
import { createSyncParts } from './sync-parts.ts';
import { addSyncRunnables } from './sync-runnables.ts';
import { type UninstallWatch, watchUninstallMarker } from './uninstall-watch.ts';
import { createWork, type Working } from './working.ts';

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
  const work = new CurrentWork(kindsOf(configuration));
  const { storage, sameDatabase } = createStorage(configuration, seen, () => work.readAnew());
  const candidate = candidateOf(configuration, controllers);
  const late: { monitor?: StorageMonitor; working?: Working } = {};
  const successor = candidate.replica === undefined ? undefined : () => late.working?.successor();
  const elector = createElector(configuration, { clock, logger, metrics }, candidate, successor);
  const mayWork = (): boolean => elector?.election.leads() ?? true;
  const sensitive = sensitiveValues(configuration);
  const uninstall = watchUninstallMarker({ ...seen, configuration }, () => work.sweepAll());
  const mayAddFinalizer = (): 'yes' | 'no' | 'unknown' => finalizersAllowed(uninstall);
  const mayMark = (): boolean => mayAddFinalizer() !== 'no';
  const events = createEventRecorder({ client, clock, logger, metrics });
  const common = { ...seen, storage, configuration, events, sensitive };
  const sync = createSyncParts({ ...common, away: () => late.monitor?.away });
  const rest = { sync, share: undefined, mayWork, mayMark, mayAddFinalizer };
  const parts: Parts = { ...common, byteBudgets: createByteBudgets(), ...rest };
  const usable = Promise.withResolvers<undefined>();
  const canStore = (): boolean => late.monitor?.problem === undefined;
  const what = { syncs: controllers.has('sync'), usable: usable.promise, canStore, replica: candidate.replica };
  const working = createWork(parts, work, what);
  const monitor = createMonitor(parts, work, () => usable.resolve(undefined));
  Object.assign(late, { monitor, working });
  const checks = { ...readinessChecks(monitor, work, watchdog), ...working.checks };
  const health = await startHealth(configuration, { checks, metrics, clock, logger });
  logger.info({ kinds: work.kinds.length, healthPort: health.port }, 'Reconciler started');
  const manager = new Manager({ clock, logger, ...(elector && { election: working.electing(elector.election) }) });
  manager.add({ name: 'health', group: 'server', run: (stop) => untilAborted(stop).then(() => health.close()) });
  manager.add({ name: 'watchdog', group: 'server', run: (stop) => watchdog.run(stop) });
  manager.add({ name: 'memory', group: 'server', run: (stop) => keepMemoryLow(clock, stop) });
  manager.add(events);
  manager.add({ name: 'storage monitor', group: 'always', run: (stop) => monitor.run(stop) });
  manager.add(sameDatabase);
  manager.add(uninstall.runnable);
  const definitions = { client, clock, logger, kinds: work.kinds };
  manager.add({ name: 'definitions', group: 'always', run: (stop) => checkDefinitions(definitions, stop) });
  // An optional kind need not be permitted.
  const left = everyKind().filter(({ kind, optional }) => !optional && !configuration.ingester.kinds.includes(kind));
  if (left.length > 0) manager.add(lookForStranded(left, 'KindNotIngested', parts));
  working.addTo(manager);
  if (controllers.has('audit')) manager.add(createAuditLoop(work, parts));
  if (what.syncs) addSyncRunnables(manager, parts, { work, monitor, share: working.share });
  await manager.run(signal);
  await Promise.all([client.close(), storage.close().then(() => tracer?.close()), elector?.close(), working.close()]);
  logger.info({}, 'Reconciler stopped');
}

function readinessChecks(
  monitor: StorageMonitor,
  { kinds, loopOf }: CurrentWork,
  watchdog: Watchdog,
): Readonly<Record<string, ReadinessCheck>> {
  const shared = { storage: () => monitor.problem, progress: () => watchdog.problem };
  return { ...shared, ...informerChecks(kinds, loopOf), ...finalizerChecks(kinds, loopOf) };
}

function finalizersAllowed(uninstall: UninstallWatch): 'yes' | 'no' | 'unknown' {
  const phase = uninstall.phase();
  if (phase === undefined) return 'unknown';
  return phase === 'active' ? 'yes' : 'no';
}

function createMonitor(parts: Parts, work: CurrentWork, onUsable: () => void): StorageMonitor {
  const { storage, clock, logger, configuration, metrics } = parts;
  const monitor = new StorageMonitor({
    storage,
    kinds: work.kinds,
    periodMs: Math.min(MONITOR_MS, configuration.ingester.requeuePeriod),
    clock,
    logger,
    onUsable,
    onRecovered: () => work.retryFailed(),
  });
  metrics.storage.watch(() => ({ available: monitor.problem === undefined, connections: storage.connections }));
  return monitor;
}

/** Where replicas share the objects, the one that leads compares all of them: that takes no part in the work on any. */
function createAuditLoop({ kinds: all, loopOf }: CurrentWork, parts: Parts): Runnable {
  const { client, storage, sensitive, clock, configuration, mayMark } = parts;
  const logger = parts.logger.child({ controller: 'ingester_audit' });
  const kinds = inCluster(all);
  const targets = kinds.map(({ kind, resource }) => {
    const shared = {
      ...{ client, storage, sensitive, clock, encode: lenientEncoder(logger), limits: usualLimits, kinds },
      storageWentBackAt: () => storageWentBackAt(parts, configuration.kubernetes.namespace),
    };
    const metrics: AuditTarget['metrics'] = {
      audited: (...found) => loopOf(kind)?.metrics.audited(...found),
      missedDeletes: (count) => loopOf(kind)?.metrics.missedDeletes(count),
    };
    return { options: { kind, resource, ...shared }, metrics, isReady: () => loopOf(kind)?.informer.synced ?? true };
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
