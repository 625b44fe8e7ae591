// What goes on beside the kinds: decisions of people, the spool, the status, the eviction rules.
import { GROUP } from '../api/names.ts';
import { objectKey } from '../api/object.ts';
import type { Manager } from '../runtime/manager.ts';
import type { StoredIdentity } from '../storage/metadata-storage.ts';
import { rulesFor } from '../sync/eviction-rules.ts';
import { rowsInCluster } from '../sync/known-rows.ts';
import { rememberedHistory } from './control.ts';
import { runEvictionLoop } from './eviction-loop.ts';
import type { KindLoop, Parts } from './kind-loop.ts';
import { runMemoryWriter } from './memory-writer.ts';
import { runStatusWriter } from './status-writer.ts';
import { StorageHistory } from './storage-history.ts';
import type { StorageMonitor } from './storage-monitor.ts';
import { replaySpool } from './sync-parts.ts';

export function addSyncRunnables(
  manager: Manager,
  parts: Parts,
  loops: readonly KindLoop[],
  monitor: StorageMonitor,
): void {
  const { client, storage, clock, logger, configuration, metrics, sync } = parts;
  const { control, spool } = sync;
  manager.add({ name: 'control', group: 'always', run: (stop) => control.run(stop) });
  if (spool !== undefined) {
    const replay = { storage, clock, logger, away: () => monitor.away };
    manager.add({ name: 'spool', group: 'always', run: (stop) => replaySpool(spool, replay, stop) });
  }
  const { names } = sync;
  if (names !== undefined) {
    const kinds = loops.map(({ kind }) => kind);
    manager.add({ name: 'remember names', group: 'leader', run: (stop) => names.fill(kinds, stop) });
  }
  const { namespace } = configuration.control;
  const onTroubles = (count: number): void => metrics.sync.troubled(count);
  const history = new StorageHistory({
    ...{ storage, clock, logger },
    remembered: () => rememberedHistory(client, namespace),
    onLost: () => metrics.sync.storageWentBack(),
  });
  manager.add({ name: 'storage history', group: 'leader', run: (stop) => history.run(stop) });
  const status = { client, namespace, loops, monitor, sync, history, onTroubles, clock, logger };
  manager.add({ name: 'status', group: 'leader', run: (stop) => runStatusWriter(status, stop) });
  const remembered = loops
    .filter(({ resource }) => resource.group === GROUP)
    .map(({ kind, informer }) => ({ kind, objects: () => informer.store.size }));
  const memory = { client, storage, namespace, kinds: remembered, clock, logger };
  manager.add({ name: 'admission memory', group: 'leader', run: (stop) => runMemoryWriter(memory, stop) });
  for (const loop of loops) addEvictionLoop(manager, parts, loop);
}

function addEvictionLoop(manager: Manager, parts: Parts, loop: KindLoop): void {
  const { client, clock, logger, configuration, sync } = parts;
  const { kind, resource, flows, controller, informer } = loop;
  const options = {
    ...{ client, resource, clock, logger, chosen: flows.chosen },
    rules: rulesFor(kind, configuration.eviction.rules),
    isReady: () => informer.synced,
    requested: () => requestedEvictions(parts, loop),
    enqueue: (key: string) => controller.enqueue(key),
    paused: () => configuration.eviction.paused || sync.control.evictionPaused,
    intervalMs: configuration.eviction.interval,
  };
  manager.add({ name: `evict ${kind.plural}`, group: 'leader', run: (stop) => runEvictionLoop(options, stop) });
}

/** Of objects that are as they were then and carry no mark, so that only a rule, or a setting, can have asked. */
async function requestedEvictions(
  { storage, configuration }: Parts,
  { kind, informer: { store }, guard: { coverage } }: KindLoop,
): Promise<readonly StoredIdentity[]> {
  if (configuration.ingester.evictImmutableKinds && kind.immutable) return [];
  const found: StoredIdentity[] = [];
  for await (const page of rowsInCluster(storage, kind, ['evicting'])) {
    for (const row of page) {
      const key = objectKey({ metadata: row });
      const seen = store.identity(key);
      const isSame = seen?.uid === row.uid && seen.resourceVersion === row.resourceVersion;
      if (isSame && coverage.isPlain(key)) found.push(row);
    }
  }
  return found;
}
