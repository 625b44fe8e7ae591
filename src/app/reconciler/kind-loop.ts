// What serves one kind, on the way from a change to a row: the informer watches and tells the controller's source, whose
// predicates drop what says nothing new; keys wait in the controller's queue; each is worked on in the steps below.
import type { KindDefinition } from '../../api/kind.ts';
import { GROUP, VERSION } from '../../api/names.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { Informer } from '../../kube/informer.ts';
import { IdentityStore } from '../../kube/store.ts';
import type { CoverageMetrics } from '../../metrics/coverage.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { Controller, type ControllerOptions } from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/event-recorder.ts';
import { enqueueForObject } from '../../runtime/handler.ts';
import { type Predicate, resourceVersionChanged } from '../../runtime/predicate.ts';
import { namespaceOf } from '../../runtime/priority-lines.ts';
import { retryUpTo } from '../../runtime/rate-limiter.ts';
import { inSteps, type Step } from '../../runtime/reconcile.ts';
import { kindSource } from '../../runtime/source.ts';
import type { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { ChangeLag } from '../../sync/change-lag.ts';
import { ChangeTraces } from '../../sync/change-traces.ts';
import { HeldObjects } from '../../sync/flows/held-objects.ts';
import { LostRaces } from '../../sync/flows/lost-races.ts';
import { ObjectReconciler } from '../../sync/flows/reconciler.ts';
import { lenientEncoder } from '../../sync/row.ts';
import type { Share } from '../../sync/share.ts';
import { Completeness } from '../../sync/startup/completeness.ts';
import { usualLimits } from '../../sync/startup/mark-missed-deletes.ts';
import { PositionTracker } from '../../sync/startup/position.ts';
import type { WentBack } from '../../sync/status/status.ts';
import { storageWentBackAt } from '../../sync/status/storage-history.ts';
import type { ReadinessCheck } from '../health.ts';
import { inCluster, kindsOf } from '../kinds.ts';
import type { ByteBudgets } from './memory.ts';
import type { KindFlows, SyncParts } from './sync-parts.ts';

/** The calls of a reconcile have deadlines of their own, which end it; that takes this long at most unless one has none. */
const RECONCILE_MS = 60_000;

export interface KindLoop {
  readonly kind: KindDefinition;
  readonly informer: Informer;
  readonly objects: HeldObjects;
  readonly controller: Controller;
  readonly completeness: Completeness;
  readonly metrics: CoverageMetrics;
  readonly resource: Resource;
  readonly flows: KindFlows;
  readonly positions: PositionTracker;
  /** When the API server was last found at an earlier version, as after a restore of etcd. */
  readonly wentBack: () => WentBack | undefined;
}

/** What all kinds share. */
export interface Parts {
  readonly byteBudgets: ByteBudgets;
  readonly client: KubeClient;
  readonly storage: MysqlMetadataStorage;
  readonly sensitive: SensitiveValues;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sync: SyncParts;
  /** Undefined unless traces are exported. */
  readonly tracer: Tracer | undefined;
  readonly watchdog: Watchdog;
  /** Undefined where one replica works, on everything. */
  readonly share: Share | undefined;
  /** False as soon as another process may lead. */
  readonly mayWork: () => boolean;
  /** False while the bundle is uninstalled: what leaves the cluster then says nothing about its row. */
  readonly mayMark: () => boolean;
  /** Whether finalizers may be added; `unknown` before the uninstall marker was read. */
  readonly mayAddFinalizer: () => 'yes' | 'no' | 'unknown';
}

interface Worked extends Pick<KindLoop, 'positions' | 'completeness' | 'objects'> {
  /** Name for the watchdog. */
  readonly work: string;
  readonly lag: ChangeLag;
  readonly traces: ChangeTraces | undefined;
  readonly reconciler: ObjectReconciler;
}

/** What happens to a key that a worker has taken from the queue, from the outside in. */
function stepsOf(
  { work, lag, traces, positions, completeness, objects, reconciler }: Worked,
  { byteBudgets, watchdog }: Parts,
): readonly Step[] {
  const traced: Step[] = traces === undefined ? [] : [['trace', (...step) => traces.around(...step)]];
  return [
    // What is logged, written and called below it names its span.
    ...traced,
    // How long the change has waited is known once it is stored.
    ['lag', (key, next) => lag.around(key, next)],
    // The position that readers of MySQL see moves on once every key was worked on.
    ['position', (key, next) => positions.around(key, next)],
    // Rows of objects that left under this key with no final state stored end first.
    ['missed deletes', (key, next) => completeness.afterMissedDeletes(key, next)],
    // What is dealt with is let go, so that an idle cluster costs its identities only.
    ['let go', (key, next) => objects.letGoAfter(key, next)],
    // The object waits until it fits beside those that all kinds are working on; namespaces take turns.
    ['byte budget', (key, next) => byteBudgets.worked.around(namespaceOf(key), objects.bytes(key), next)],
    // A run that makes no progress is told, by log, metric and readiness.
    ['watchdog', (_, next) => watchdog.around(work, RECONCILE_MS, next)],
    // The object is read and classified, and the flow of its state brings it into its row.
    ['reconcile', (key) => reconciler.reconcile(key)],
  ];
}

export function createLoop(kind: KindDefinition, parts: Parts): KindLoop {
  const { client, storage, clock, watchdog, mayMark, configuration, byteBudgets, share } = parts;
  const { ingester } = configuration;
  const logger = parts.logger.child({ controller: `ingester_${kind.kind}` });
  const resource = { group: GROUP, version: VERSION, plural: kind.plural };
  const store = new IdentityStore(byteBudgets.held);
  const wentBack = noteWentBack(clock, () => metrics.wentBack());
  const seeing = { client, resource, store, clock, logger, watchdog, onWentBack: wentBack.note };
  const own = narrowedTo(share);
  const informer = new Informer({ ...seeing, ...own });
  const completeness: Completeness = new Completeness({
    ...{ kind, resource, informer, client, storage, clock, logger, mayMark, keeps: own?.keeps },
    limits: share === undefined ? usualLimits : { ...usualLimits, replicas: () => share.replicas() },
    kinds: inCluster(kindsOf(configuration)),
    storageWentBackAt: () => storageWentBackAt(parts, configuration.kubernetes.namespace),
    evictsAll: ingester.evictImmutableKinds && kind.immutable,
    storeLast: (state) => reconciler.storeLast(state),
    onMissedDeletes: (count) => metrics.missedDeletes(count),
  });
  const metrics = parts.metrics.coverage.forKind(kind.kind, () => completeness.coverage.unguarded.size);
  const waits = (key: string): boolean => completeness.firstList.waits(key);
  const objects = new HeldObjects({ client, resource, store, keeps: own?.keeps, waits });
  const positions = new PositionTracker();
  const flows = parts.sync.ofKind(kind, () => store.size, share);
  const reconciler = new ObjectReconciler({
    ...flows.options,
    ...{ kind, resource, client, storage, clock, logger, sensitive: parts.sensitive, encode: lenientEncoder(logger) },
    ...{ failingObjects: parts.sync.failingObjects, incompleteProtos: parts.sync.incompleteProtos },
    ...{ mayAddFinalizer: parts.mayAddFinalizer, lastStates: completeness, lostRaces: new LostRaces(clock) },
    getObject: (key) => objects.get(key),
    defers: (key) => completeness.firstList.defers(key),
    onFinished: (state) => completeness.noteFinished(state),
  });
  const { noted, ...following } = followChanges(kind, parts, store);
  const work = `reconcile ${kind.plural}`;
  watchdog.prepare([work, `list ${kind.plural}`, `watch ${kind.plural}`]);
  const controller = new Controller({
    name: `ingester_${kind.kind}`,
    sources: [
      kindSource({
        name: kind.plural,
        informer: () => informer,
        handler: enqueueForObject(),
        predicates: [resourceVersionChanged, completeness.skipUnchanged, ...noted],
        prepare: () => completeness.look(),
      }),
      completeness.firstList,
    ],
    worksWhileSyncing: true,
    // A CRD may be installed long after this program was.
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    ...paceOf(kind.kind, configuration),
    reconcile: inSteps(stepsOf({ work, ...following, positions, completeness, objects, reconciler }, parts)),
    metrics: parts.metrics.controllers.forController(`ingester_${kind.kind}`),
    mayWork: parts.mayWork,
    clock,
    logger,
  });
  const made = { kind, resource, informer, objects, controller, completeness, metrics, flows, positions };
  return { ...made, wentBack: wentBack.seen };
}

/** When the API server was last found at an earlier version, and the way to say so. */
function noteWentBack(
  clock: Clock,
  onNoted: () => void,
): { readonly note: (from: string, to: string) => void; readonly seen: () => WentBack | undefined } {
  let seen: WentBack | undefined;
  const note = (from: string, to: string): void => {
    seen = { at: clock.now().toISOString(), from, to };
    onNoted();
  };
  return { note, seen: () => seen };
}

/** How many objects of the kind are worked on at once, and when one that failed comes again. */
function paceOf(
  kind: string,
  { ingester }: Configuration,
): Pick<ControllerOptions, 'maxConcurrentReconciles' | 'retry'> {
  return {
    maxConcurrentReconciles: ingester.concurrentReconcilesMap[kind] ?? ingester.concurrentReconciles,
    retry: retryUpTo(ingester.requeuePeriodMap[kind] ?? ingester.requeuePeriod),
  };
}

/** How long changes take, and where traces are exported what became of each; and what notes them. */
function followChanges(
  kind: KindDefinition,
  parts: Parts,
  store: { readonly size: number },
): Pick<Worked, 'lag' | 'traces'> & { readonly noted: readonly Predicate[] } {
  const { tracer, clock } = parts;
  const lag = createLag(kind, parts, store);
  const traces = tracer === undefined ? undefined : new ChangeTraces({ kind, tracer, clock });
  return { lag, traces, noted: [lag.noted, ...(traces === undefined ? [] : [traces.noted])] };
}

function createLag({ kind }: KindDefinition, { clock, metrics }: Parts, store: { readonly size: number }): ChangeLag {
  const lag = new ChangeLag({ clock, onStored: (seconds) => series.stored(seconds) });
  const series = metrics.lag.forKind(kind, () => ({
    ...{ changes: lag.changes, oldestSeconds: lag.oldestSeconds },
    objects: store.size,
  }));
  return lag;
}

/** Undefined: all objects are this replica's. */
export function keepsOf(share: Share | undefined): ((object: { readonly uid: string }) => boolean) | undefined {
  return share === undefined ? undefined : ({ uid }) => share.holds(uid);
}

interface Narrowed {
  readonly keeps: (object: { readonly uid: string }) => boolean;
  readonly shardSelector: string | undefined;
}

/** What an informer sees of the objects. */
function narrowedTo(share: Share | undefined): Narrowed | undefined {
  const keeps = keepsOf(share);
  return share && keeps && { keeps, shardSelector: share.shardSelector };
}

/** The loop of a kind now; undefined while this replica has no part in the work. */
export type LoopOf = (kind: KindDefinition) => KindLoop | undefined;

export function informerChecks(
  kinds: readonly KindDefinition[],
  loopOf: LoopOf,
): Readonly<Record<string, ReadinessCheck>> {
  return Object.fromEntries(
    kinds.map((kind) => [
      `watch-${kind.plural}`,
      () => {
        const { installed, synced } = loopOf(kind)?.informer ?? { installed: true, synced: true };
        if (!installed) return 'the CRD is not installed';
        return synced ? undefined : 'the first list is not complete';
      },
    ]),
  );
}
