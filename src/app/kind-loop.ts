// What serves one kind: its informer, its controller and its reconciler.
import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Watchdog } from '../base/watchdog.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { Informer } from '../kube/informer.ts';
import { IdentityStore } from '../kube/store.ts';
import { Controller } from '../runtime/controller.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import { enqueueForObject } from '../runtime/handler.ts';
import { resourceVersionChanged } from '../runtime/predicate.ts';
import { kindSource } from '../runtime/source.ts';
import type { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { lenientEncoder } from '../sync/encode.ts';
import { PositionTracker } from '../sync/position.ts';
import { ObjectReconciler } from '../sync/reconciler.ts';
import type { WentBack } from '../sync/status.ts';
import type { ReadinessCheck } from './health.ts';
import { createKindGuard, type KindGuard } from './kind-guard.ts';
import { bytesAt, type Memory } from './memory.ts';
import type { KindFlows, SyncParts } from './sync-parts.ts';

/** The calls of a reconcile have deadlines of their own, which end it; that takes this long at most unless one has none. */
const RECONCILE_MS = 60_000;

export interface KindLoop {
  readonly kind: KindDefinition;
  readonly informer: Informer<IdentityStore>;
  readonly controller: Controller;
  readonly guard: KindGuard;
  readonly resource: Resource;
  readonly flows: KindFlows;
  readonly positions: PositionTracker;
  /** When the API server was last found at an earlier version, as after a restore of etcd. */
  readonly wentBack: () => WentBack | undefined;
}

/** What all kinds share. */
export interface Parts {
  readonly memory: Memory;
  readonly client: KubeClient;
  readonly storage: MysqlMetadataStorage;
  readonly sensitive: SensitiveValues;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sync: SyncParts;
  readonly watchdog: Watchdog;
  /** False as soon as another process may lead. */
  readonly mayWork: () => boolean;
  /** False while the bundle is drained: what leaves the cluster then says nothing about its row. */
  readonly mayMark: () => boolean;
  /** Whether finalizers may be added; `unknown` before the drain marker was read. */
  readonly mayGuard: () => 'yes' | 'no' | 'unknown';
}

export function createLoop(kind: KindDefinition, parts: Parts): KindLoop {
  const { client, storage, clock, configuration, memory } = parts;
  const { ingester } = configuration;
  const logger = parts.logger.child({ controller: `ingester_${kind.kind}` });
  const resource = { group: GROUP, version: VERSION, plural: kind.plural };
  const store = new IdentityStore(memory.held);
  const seen: { wentBack?: WentBack } = {};
  const onWentBack = (from: string, to: string): void => {
    seen.wentBack = { at: clock.now().toISOString(), from, to };
    guard.metrics.wentBack();
  };
  const watched = { watchdog: parts.watchdog, onWentBack };
  const informer = new Informer({ client, resource, store, clock, logger, ...watched });
  const getObject = (key: string) => latest(client, resource, store, key);
  const guard = createKindGuard({ kind, resource, informer, getObject }, { ...parts, logger });
  const flows = parts.sync.ofKind(kind, () => store.size);
  const reconciler = new ObjectReconciler({
    ...flows.options,
    troubles: parts.sync.troubles,
    mayGuard: parts.mayGuard,
    onFinished: (uid) => guard.noteFinished(uid),
    ...{ kind, resource, getObject, client, storage },
    encode: lenientEncoder(logger),
    sensitive: parts.sensitive,
    clock,
    logger,
  });
  const work = `reconcile ${kind.plural}`;
  parts.watchdog.prepare([work, `list ${kind.plural}`, `watch ${kind.plural}`]);
  const limited = <T>(reconcile: () => Promise<T>): Promise<T> => parts.watchdog.around(work, RECONCILE_MS, reconcile);
  const positions = new PositionTracker();
  const controller = new Controller({
    name: `ingester_${kind.kind}`,
    sources: [
      kindSource({
        name: kind.plural,
        informer: () => informer,
        handler: enqueueForObject(),
        predicates: [resourceVersionChanged, guard.skipUnchanged],
      }),
    ],
    // A CRD may be installed long after this program was.
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    maxConcurrentReconciles: ingester.concurrentReconcilesMap[kind.kind] ?? ingester.concurrentReconciles,
    retry: { baseMs: 250, capMs: ingester.requeuePeriodMap[kind.kind] ?? ingester.requeuePeriod },
    reconcile: (key) =>
      positions.around(key, () =>
        guard.around(key, () =>
          memory.worked.around(bytesAt(store, key), () => limited(() => reconciler.reconcile(key))),
        ),
      ),
    metrics: parts.metrics.controllers.forController(`ingester_${kind.kind}`),
    mayWork: parts.mayWork,
    clock,
    logger,
  });
  return { kind, informer, controller, guard, resource, flows, positions, wentBack: () => seen.wentBack };
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

export function informerChecks(loops: readonly KindLoop[]): Readonly<Record<string, ReadinessCheck>> {
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
