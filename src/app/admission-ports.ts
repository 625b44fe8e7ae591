// What the validating rules ask beyond the request. Code is loaded before the first request, so that no question holds
// up the others; nothing is read or connected before the first question, and ordinary requests never ask one.
import { CachedAccessReviewer } from '../../webhooks/cached-access.ts';
import type { AdmissionPorts } from '../../webhooks/policies/registry.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { WebhookMetrics } from '../base/metrics.ts';
import { storageEnabled } from '../config/gates.ts';
import type { Configuration } from '../config/schema.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { ApiAccessReviewer } from './access-reviewer.ts';
import { ConfigMapMemory } from './admission-memory.ts';
import { ConfigMapBounds } from './ingester-bounds.ts';
import { everyKind } from './kinds.ts';
import { createClient } from './kube-client.ts';
import { watchNames } from './name-watch.ts';
import { ClusterCensus } from './object-census.ts';

interface Tools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
}

export async function createAdmissionPorts(
  configuration: Configuration,
  { clock, logger, metrics }: Tools,
): Promise<AdmissionPorts & { close(): Promise<void> }> {
  const client = new Lazy(() => createClient(configuration, clock, metrics));
  const storage = storageEnabled(configuration) ? new Lazy(await loadStorage(configuration, clock)) : undefined;
  const reviewer = new ApiAccessReviewer({ client: () => client.get(), clock, logger });
  const open = storage === undefined ? undefined : () => storage.get();
  const names = watchNames(configuration, { client: () => client.get(), clock, logger, metrics });
  const ownNamespace = { client: () => client.get(), namespace: configuration.control.namespace, clock, logger };
  return {
    names,
    access: new CachedAccessReviewer(reviewer, clock),
    memory: new ConfigMapMemory(ownNamespace),
    bounds: new ConfigMapBounds(ownNamespace),
    census: new ClusterCensus({
      kinds: everyKind(configuration),
      client: () => client.get(),
      storage: open,
      clock,
      logger,
    }),
    close: async () => {
      await names.stop();
      await Promise.all([client.close(), storage?.close()]);
    },
  };
}

/** The database driver is loaded only where a database is configured. */
async function loadStorage(configuration: Configuration, clock: Clock): Promise<() => MetadataStorage> {
  const [{ MysqlMetadataStorage }, { mysqlOptions }] = await Promise.all([
    import('../storage/mysql/mysql-storage.ts'),
    import('./mysql-options.ts'),
  ]);
  return () => new MysqlMetadataStorage(mysqlOptions(configuration), clock);
}

/** Made when it is asked for first, and again where that failed. */
class Lazy<T extends { close(): Promise<void> }> {
  readonly #make: () => T;
  #made: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** What cannot be made is a question without an answer. */
  get(): Promise<T> {
    return new Promise((resolve) => {
      this.#made ??= this.#make();
      resolve(this.#made);
    });
  }

  async close(): Promise<void> {
    await this.#made?.close();
  }
}
