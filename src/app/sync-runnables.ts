// What goes on beside the kinds: decisions of people, the spool, the status, the eviction rules.
import { GROUP } from '../api/names.ts';
import type { Manager } from '../runtime/manager.ts';
import { rulesFor } from '../sync/eviction-rules.ts';
import { runEvictionLoop } from './eviction-loop.ts';
import type { KindLoop, Parts } from './kind-loop.ts';
import { runMemoryWriter } from './memory-writer.ts';
import { runStatusWriter } from './status-writer.ts';
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
    const awaySince = (): Date | undefined => monitor.problemSince;
    const replay = { storage, clock, logger, awaySince };
    manager.add({ name: 'spool', group: 'always', run: (stop) => replaySpool(spool, replay, stop) });
  }
  const { names } = sync;
  if (names !== undefined) {
    const kinds = loops.map(({ kind }) => kind);
    manager.add({ name: 'remember names', group: 'leader', run: (stop) => names.fill(kinds, stop) });
  }
  const { namespace } = configuration.control;
  const onTroubles = (count: number): void => metrics.sync.troubled(count);
  const status = { client, namespace, loops, monitor, sync, onTroubles, clock, logger };
  manager.add({ name: 'status', group: 'leader', run: (stop) => runStatusWriter(status, stop) });
  const remembered = loops
    .filter(({ resource }) => resource.group === GROUP)
    .map(({ kind, informer }) => ({ kind, objects: () => informer.store.size }));
  const memory = { client, storage, namespace, kinds: remembered, clock, logger };
  manager.add({ name: 'admission memory', group: 'leader', run: (stop) => runMemoryWriter(memory, stop) });
  for (const { kind, resource, flows, controller } of loops) {
    const rules = rulesFor(kind, configuration.eviction.rules);
    if (rules.length === 0) continue;
    const enqueue = (key: string): void => controller.enqueue(key);
    const paused = (): boolean => configuration.eviction.paused || control.evictionPaused;
    const intervalMs = configuration.eviction.interval;
    const loop = { client, resource, rules, chosen: flows.chosen, enqueue, paused, intervalMs, clock, logger };
    manager.add({ name: `evict ${kind.plural}`, group: 'leader', run: (stop) => runEvictionLoop(loop, stop) });
  }
}
