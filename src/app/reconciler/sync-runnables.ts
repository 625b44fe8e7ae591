// What runs beside the kinds. Each replica follows the operators' decisions and has a spool of its own; one of them, the leader,
// writes the status, the records and the tombstones of before.
import type { Manager } from '../../runtime/manager.ts';
import { runRecordWriter } from '../../sync/admission/record-writer.ts';
import { replaySpool } from '../../sync/flows/spooling-policy.ts';
import type { KindStatus } from '../../sync/status/status.ts';
import { runStatusWriter, type StatusShare } from '../../sync/status/status-writer.ts';
import { rememberedHistory, StorageHistory } from '../../sync/status/storage-history.ts';
import type { StorageMonitor } from '../../sync/status/storage-monitor.ts';
import type { CurrentWork } from './current-work.ts';
import type { KindLoop, Parts } from './kind-loop.ts';

export interface SyncRunnables {
  readonly work: CurrentWork;
  readonly monitor: StorageMonitor;
  /** Where all replicas work. */
  readonly share: StatusShare | undefined;
}

export function addSyncRunnables(manager: Manager, parts: Parts, given: SyncRunnables): void {
  const { work } = given;
  const { storage, clock, logger, sync } = parts;
  const { control, spool, tombstones } = sync;
  manager.add({ name: 'control', group: 'always', run: (stop) => control.run(stop) });
  if (spool !== undefined) {
    const replay = { storage, clock, logger, away: () => given.monitor.away };
    manager.add({ name: 'spool', group: 'always', run: (stop) => replaySpool(spool, replay, stop) });
  }
  if (tombstones !== undefined) {
    manager.add({ name: 'tombstones', group: 'leader', run: (stop) => tombstones.fill(work.kinds, stop) });
  }
  addStatus(manager, parts, given);
  addAdmissionRecord(manager, parts, work);
}

function addStatus(manager: Manager, parts: Parts, { work, monitor, share }: SyncRunnables): void {
  // Each replica knows the transactions that it has committed itself, and what it works on.
  const group = share === undefined ? 'leader' : 'always';
  const { client, storage, clock, logger, configuration, metrics, sync } = parts;
  const { namespace } = configuration.kubernetes;
  const history = new StorageHistory({
    ...{ storage, clock, logger },
    remembered: () => rememberedHistory(client, namespace, clock.now()),
    onLost: () => metrics.sync.storageWentBack(),
    onWeak: (settings) => metrics.sync.notDurable(settings),
  });
  manager.add({ name: 'storage history', group, run: (stop) => history.run(stop) });
  const status = {
    ...{ client, namespace, monitor, history, share, clock, logger },
    ...{ failingObjects: sync.failingObjects, incompleteProtos: sync.incompleteProtos, spooled: sync.spooled },
    kinds: () => work.loops.map((loop) => statusOf(loop, clock.now())),
    onFailingObjects: (count: number) => metrics.sync.failing(count),
  };
  manager.add({ name: 'status', group, run: (stop) => runStatusWriter(status, stop) });
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

function addAdmissionRecord(manager: Manager, parts: Parts, work: CurrentWork): void {
  const { client, storage, clock, logger, configuration } = parts;
  const kinds = work.kinds.map((kind) => ({ kind, objects: () => work.loopOf(kind)?.informer.store.size ?? 0 }));
  const record = { client, storage, namespace: configuration.kubernetes.namespace, kinds, clock, logger };
  manager.add({ name: 'admission record', group: 'leader', run: (stop) => runRecordWriter(record, stop) });
}
