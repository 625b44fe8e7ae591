// What the webhook knows of the names under which objects left: the tombstone index that the reconciler writes, followed
// by a watch. Before the first answer, and where there is none, nothing is known and nothing refused. A watch that
// stalls is logged and ended, and the webhook stays ready: without these names it answers all the same, and a webhook
// that is not ready refuses every create.
import type { TombstoneIndex } from '../../../webhooks/ports.ts';
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { repeat } from '../../base/repeat.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { Configuration } from '../../config/schema.ts';
import { findTombstone, TOMBSTONES_CONFIG_MAP, type TombstoneData } from '../../gitops/tombstone-index.ts';
import type { KubeClient } from '../../kube/client.ts';
import { configMaps } from '../../kube/resources.ts';
import type { ObjectStore } from '../../kube/store.ts';
import type { WebhookMetrics } from '../../metrics/metrics.ts';
import { createWatchdog } from '../health.ts';

const RETRY_MS = 1000;

interface Tools {
  readonly client: () => Promise<KubeClient>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<WebhookMetrics, 'watchdog'>;
}

interface TombstoneSettings {
  readonly tombstones: Configuration['tombstones'];
  readonly kubernetes: Pick<Configuration['kubernetes'], 'namespace'>;
}

/** Knows nothing unless it is switched on, and loads nothing for it. `stop` ends the watch. */
export function watchTombstones(
  { tombstones: { enabled }, kubernetes: { namespace } }: TombstoneSettings,
  tools: Tools,
): TombstoneIndex & { stop(): Promise<void> } {
  if (!enabled) return { find: () => undefined, stop: () => Promise.resolve() };
  const stopped = new AbortController();
  const watched: { store?: ObjectStore } = {};
  const key = `${namespace}/${TOMBSTONES_CONFIG_MAP}`;
  const { signal } = stopped;
  const watchdog = createWatchdog(tools.clock, tools.logger, tools.metrics);
  const follower = follow(namespace, { ...tools, watchdog, signal, use: (store) => (watched.store = store) });
  const running = Promise.all([follower, watchdog.run(signal)]);
  return {
    find: (name) => {
      const data = valueAt(watched.store?.get(key), ['data']);
      return isJsonObject(data) ? findTombstone(data as TombstoneData, name) : undefined;
    },
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}

async function follow(
  namespace: string,
  tools: Tools & {
    readonly watchdog: Watchdog;
    readonly signal: AbortSignal;
    readonly use: (store: ObjectStore) => void;
  },
): Promise<void> {
  const { client, clock, logger, watchdog, signal, use } = tools;
  await repeat({ clock, periodMs: RETRY_MS, signal }, async () => {
    try {
      const [{ Informer }, { FullStore }] = await Promise.all([
        import('../../kube/informer.ts'),
        import('../../kube/store.ts'),
      ]);
      const store = new FullStore();
      const selection = { namespace, fieldSelector: `metadata.name=${TOMBSTONES_CONFIG_MAP}` };
      const informer = new Informer({
        ...{ client: await client(), resource: configMaps, store, clock, logger, selection, watchdog },
      });
      use(store);
      await Promise.race([informer.run(signal), untilAborted(signal)]);
    } catch (error) {
      logger.warn({ err: error }, 'Cannot watch the names of archived objects yet; creates under them are allowed');
    }
  });
}
