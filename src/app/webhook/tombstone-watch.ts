// What the webhook knows of the names under which objects left: the tombstone index that the reconciler writes, followed
// by a watch. Before the first answer, and where there is none, nothing is known and nothing refused. A watch that
// stalls is logged and ended, and the webhook stays ready: without these names it answers all the same, and a webhook
// that is not ready refuses every create.
import type { TombstoneIndex } from '../../../webhooks/ports.ts';
import { untilAborted } from '../../base/abort.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { Configuration } from '../../config/schema.ts';
import { findTombstone, TOMBSTONES_CONFIG_MAP, type TombstoneData } from '../../gitops/tombstone-index.ts';
import type { KubeClient } from '../../kube/client.ts';
import { configMaps } from '../../kube/resources.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
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
  let data: TombstoneData = {};
  const { signal } = stopped;
  const watchdog = createWatchdog(tools.clock, tools.logger, tools.metrics);
  const follower = follow(namespace, { ...tools, watchdog, signal, use: (read) => (data = read) });
  const running = Promise.all([follower, watchdog.run(signal)]);
  return {
    find: (name) => findTombstone(data, name),
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
    readonly use: (data: TombstoneData) => void;
  },
): Promise<void> {
  const { client, clock, logger, watchdog, signal, use } = tools;
  await repeat({ clock, periodMs: RETRY_MS, signal }, async () => {
    try {
      const [{ Informer }, { IdentityStore }] = await Promise.all([
        import('../../kube/informer.ts'),
        import('../../kube/store.ts'),
      ]);
      const selection = { namespace, fieldSelector: `metadata.name=${TOMBSTONES_CONFIG_MAP}` };
      const informer = new Informer({
        ...{
          client: await client(),
          resource: configMaps,
          store: new IdentityStore(),
          clock,
          logger,
          selection,
          watchdog,
        },
      });
      const read = ({ watched }: KnownObject): void => use(dataOf(watched?.parse()));
      use({});
      informer.addHandler({ add: read, update: (_, after) => read(after), delete: () => use({}) });
      await Promise.race([informer.run(signal), untilAborted(signal)]);
    } catch (error) {
      logger.warn({ err: error }, 'Cannot watch the names of archived objects yet; creates under them are allowed');
    }
  });
}

function dataOf(configMap: unknown): TombstoneData {
  const data = valueAt(configMap, ['data']);
  return isJsonObject(data) ? (data as TombstoneData) : {};
}
