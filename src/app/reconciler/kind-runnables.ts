// What works on the objects of one kind: the controller, and the eviction rules.
import { untilAborted } from '../../base/abort.ts';
import { sleep } from '../../base/clock.ts';
import type { Manager } from '../../runtime/manager.ts';
import { requestedEvictions, runEvictionLoop } from '../../sync/eviction/eviction-loop.ts';
import { rulesFor } from '../../sync/eviction/eviction-rules.ts';
import { type KindLoop, keepsOf, type Parts } from './kind-loop.ts';

/**
 * Without a usable database every reconcile would fail; the objects wait in the informer until `usable`. Where their
 * finalizers may be removed without it, they wait no longer than that takes.
 */
export function addLoop(manager: Manager, loop: KindLoop, parts: Parts, usable: Promise<undefined>): void {
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

export function addEvictionLoop(manager: Manager, parts: Parts, loop: KindLoop): void {
  const { client, storage, clock, logger, configuration, sync } = parts;
  const { kind, resource, flows, controller, informer, completeness } = loop;
  const evictsAll = configuration.ingester.evictImmutableKinds && kind.immutable;
  const { store } = informer;
  const options = {
    ...{ client, resource, clock, logger, chosen: flows.chosen, keeps: keepsOf(parts.share) },
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
