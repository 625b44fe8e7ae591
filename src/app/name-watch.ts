// What the webhook knows of the names under which objects left: the ConfigMap that the reconciler writes, followed by a
// watch. Before the first answer, and where there is none, nothing is known and nothing refused. A watch that stalls is
// said and broken off, and the webhook stays ready: without these names it answers all the same, and a webhook that is
// not ready refuses every create.
import type { NameMemory } from '../../webhooks/ports.ts';
import { untilAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { WebhookMetrics } from '../base/metrics.ts';
import type { Watchdog } from '../base/watchdog.ts';
import type { Configuration } from '../config/schema.ts';
import { NAMES_CONFIG_MAP, type NameBook, recall } from '../gitops/remembered-names.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import type { ObjectStore } from '../kube/store.ts';
import { createWatchdog } from './watchdog.ts';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };
const RETRY_MS = 1000;

interface Tools {
  readonly client: () => Promise<KubeClient>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<WebhookMetrics, 'watchdog'>;
}

/** Remembers nothing unless it is switched on, and loads nothing for it. `stop` ends the watch. */
export function watchNames(
  { rememberedNames: { enabled, namespace } }: Pick<Configuration, 'rememberedNames'>,
  tools: Tools,
): NameMemory & { stop(): Promise<void> } {
  if (!enabled) return { recall: () => undefined, stop: () => Promise.resolve() };
  const stopped = new AbortController();
  const watched: { store?: ObjectStore } = {};
  const key = `${namespace}/${NAMES_CONFIG_MAP}`;
  const { signal } = stopped;
  const watchdog = createWatchdog(tools.clock, tools.logger, tools.metrics);
  const follower = follow(namespace, { ...tools, watchdog, signal, use: (store) => (watched.store = store) });
  const running = Promise.all([follower, watchdog.run(signal)]);
  return {
    recall: (name) => {
      const data = valueAt(watched.store?.get(key), ['data']);
      return isJsonObject(data) ? recall(data as NameBook, name) : undefined;
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
  while (!signal.aborted) {
    try {
      const [{ Informer }, { FullStore }] = await Promise.all([
        import('../kube/informer.ts'),
        import('../kube/store.ts'),
      ]);
      const store = new FullStore();
      const selection = { namespace, fieldSelector: `metadata.name=${NAMES_CONFIG_MAP}` };
      const informer = new Informer({
        ...{ client: await client(), resource: configMaps, store, clock, logger, selection, watchdog },
      });
      use(store);
      await Promise.race([informer.run(signal), untilAborted(signal)]);
    } catch (error) {
      logger.warn({ err: error }, 'Names of archived objects cannot be followed yet; creates under them are allowed');
    }
    await sleep(clock, RETRY_MS, signal);
  }
}
