// What runs beside the kinds: the operators' decisions, the spool, the tombstones, the records, the eviction rules.
import type { Manager } from '../../runtime/manager.ts';
import { runRecordWriter } from '../../sync/admission/record-writer.ts';
import { requestedEvictions, runEvictionLoop } from '../../sync/eviction/eviction-loop.ts';
import { rulesFor } from '../../sync/eviction/eviction-rules.ts';
import { replaySpool } from '../../sync/flows/spooling-policy.ts';
import type { KindStatus } from '../../sync/status/status.ts';
import { runStatusWriter } from '../../sync/status/status-writer.ts';
import { rememberedHistory, StorageHistory } from '../../sync/status/storage-history.ts';
import type { StorageMonitor } from '../../sync/status/storage-monitor.ts';
import type { KindLoop, Parts } from './kind-loop.ts';

export function addSyncRunnables(
  manager: Manager,
  parts: Parts,
  loops: readonly KindLoop[],
  monitor: StorageMonitor,
): void {
  const { storage, clock, logger, sync } = parts;
  const { control, spool, tombstones } = sync;
  manager.add({ name: 'control', group: 'always', run: (stop) => control.run(stop) });
  if (spool !== undefined) {
    const replay = { storage, clock, logger, away: () => monitor.away };
    manager.add({ name: 'spool', group: 'always', run: (stop) => replaySpool(spool, replay, stop) });
  }
  if (tombstones !== undefined) {
    const kinds = loops.map(({ kind }) => kind);
    manager.add({ name: 'tombstones', group: 'leader', run: (stop) => tombstones.fill(kinds, stop) });
  }
  addStatus(manager, parts, loops, monitor);
  addAdmissionRecord(manager, parts, loops);
  for (const loop of loops) addEvictionLoop(manager, parts, loop);
}

function addStatus(manager: Manager, parts: Parts, loops: readonly KindLoop[], monitor: StorageMonitor): void {
  const { client, storage, clock, logger, configuration, metrics, sync } = parts;
  const { namespace } = configuration.kubernetes;
  const history = new StorageHistory({
    ...{ storage, clock, logger },
    remembered: () => rememberedHistory(client, namespace, clock.now()),
    onLost: () => metrics.sync.storageWentBack(),
    onWeak: (settings) => metrics.sync.notDurable(settings),
  });
  manager.add({ name: 'storage history', group: 'leader', run: (stop) => history.run(stop) });
  const status = {
    ...{ client, namespace, monitor, history, clock, logger },
    ...{ failingObjects: sync.failingObjects, incompleteProtos: sync.incompleteProtos, spooled: sync.spooled },
    kinds: () => loops.map((loop) => statusOf(loop, clock.now())),
    onFailingObjects: (count: number) => metrics.sync.failing(count),
  };
  manager.add({ name: 'status', group: 'leader', run: (stop) => runStatusWriter(status, stop) });
}

/** What is shorter is no more than an API server that restarts. */
const INTERRUPTED_MS = 30_000;

function statusOf({ kind, informer, controller, wentBack }: KindLoop, now: Date): KindStatus {
  const restore = wentBack();
  const counts = { objects: informer.store.size, failing: controller.failing };
  const { since, reason = '' } = informer.interruption ?? {};
  const lasts = since !== undefined && now.getTime() - since.getTime() >= INTERRUPTED_MS;
  return {
    kind: kind.kind,
    ...counts,
    ...(lasts ? { interrupted: { since: since.toISOString(), reason } } : {}),
    ...(restore === undefined ? {} : { wentBack: restore }),
  };
}

function addAdmissionRecord(manager: Manager, parts: Parts, loops: readonly KindLoop[]): void {
  const { client, storage, clock, logger, configuration } = parts;
  const kinds = loops.map(({ kind, informer }) => ({ kind, objects: () => informer.store.size }));
  const record = { client, storage, namespace: configuration.kubernetes.namespace, kinds, clock, logger };
  manager.add({ name: 'admission record', group: 'leader', run: (stop) => runRecordWriter(record, stop) });
}

function addEvictionLoop(manager: Manager, parts: Parts, loop: KindLoop): void {
  const { client, storage, clock, logger, configuration, sync } = parts;
  const { kind, resource, flows, controller, informer, completeness } = loop;
  const evictsAll = configuration.ingester.evictImmutableKinds && kind.immutable;
  const { store } = informer;
  const options = {
    ...{ client, resource, clock, logger, chosen: flows.chosen },
    rules: rulesFor(kind, configuration.eviction.rules),
    isReady: () => informer.synced,
    requested: async () =>
      evictsAll ? [] : await requestedEvictions({ kind, storage, store, coverage: completeness.coverage }),
    enqueue: (key: string) => controller.enqueue(key),
    paused: () => sync.control.evictionPaused,
    intervalMs: configuration.eviction.interval,
  };
  manager.add({ name: `evict ${kind.plural}`, group: 'leader', run: (stop) => runEvictionLoop(options, stop) });
}
