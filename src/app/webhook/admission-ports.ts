// What the validating rules look up beyond the request. Code is loaded before the first request, so that no lookup
// holds up other requests; nothing is read or connected before the first lookup, and ordinary requests need none.

import { CachedAccessReviewer } from '../../../webhooks/cached-access.ts';
import type { AdmissionPorts } from '../../../webhooks/policies/registry.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Tracer } from '../../base/tracing.ts';
import { storageEnabled } from '../../config/feature-switches.ts';
import { problemsIn } from '../../config/load.ts';
import type { Configuration } from '../../config/schema.ts';
import type { WebhookMetrics } from '../../metrics/metrics.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { ClusterCensus, ConfigMapBounds, ConfigMapRecord } from '../../sync/admission/lookups.ts';
import { everyKind } from '../kinds.ts';
import { createClient } from '../kube-client.ts';
import { ApiAccessReviewer } from './access-reviewer.ts';
import { watchTombstones } from './tombstone-watch.ts';

interface Tools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
  readonly tracer?: Tracer | undefined;
}

export async function createAdmissionPorts(
  configuration: Configuration,
  { clock, logger, metrics, tracer }: Tools,
): Promise<AdmissionPorts & { close(): Promise<void> }> {
  const client = new Lazy(() => createClient(configuration, clock, metrics, tracer));
  const storage = storageEnabled(configuration) ? new Lazy(await loadStorage(configuration, clock)) : undefined;
  const reviewer = new ApiAccessReviewer({ client: () => client.get(), clock, logger });
  const open = storage === undefined ? undefined : () => storage.get();
  const tombstones = watchTombstones(configuration, { client: () => client.get(), clock, logger, metrics });
  const ownNamespace = { client: () => client.get(), namespace: configuration.kubernetes.namespace, clock, logger };
  return {
    tombstones,
    access: new CachedAccessReviewer(reviewer, clock),
    record: new ConfigMapRecord(ownNamespace),
    bounds: new ConfigMapBounds(ownNamespace),
    configurationProblems: problemsIn,
    census: new ClusterCensus({
      kinds: everyKind(),
      client: () => client.get(),
      storage: open,
      clock,
      logger,
    }),
    close: async () => {
      await tombstones.stop();
      await Promise.all([client.close(), storage?.close()]);
    },
  };
}

/** The database driver is loaded only where a database is configured. */
async function loadStorage(configuration: Configuration, clock: Clock): Promise<() => MetadataStorage> {
  const [{ MysqlMetadataStorage }, { mysqlOptions }] = await Promise.all([
    import('../../storage/mysql/store/mysql-storage.ts'),
    import('../mysql-options.ts'),
  ]);
  return () => new MysqlMetadataStorage(mysqlOptions(configuration), clock);
}

/** Created on first use, and again where that failed. */
class Lazy<T extends { close(): Promise<void> }> {
  readonly #make: () => T;
  #made: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** Where it cannot be created, the lookup has no answer. */
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
