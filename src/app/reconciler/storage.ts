// The storage of a reconciler: counts what does not fit its column, lets the watchdog see the writes, remembers in the cluster
// which database it is, and ends the process where it becomes another one.
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { DatabaseChangedError } from '../../storage/errors.ts';
import { MysqlMetadataStorage, type StorageObservers, WRITE_WORK } from '../../storage/mysql/store/mysql-storage.ts';
import { ClusterMemory } from '../cluster-memory.ts';
import { kindsOf } from '../kinds.ts';
import { mysqlOptions } from '../mysql-options.ts';

interface StorageParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly watchdog: Watchdog;
}

interface ReconcilerStorage {
  readonly storage: MysqlMetadataStorage;
  /** Throws STORAGE_DATABASE_CHANGED where the database becomes another one. */
  readonly sameDatabase: Runnable;
}

const KEY_TAKEN =
  'The key that michelangelo/MetadataStoragePrimaryKey names is that of another row; the object has a row under its uid';

export function createStorage(
  configuration: Configuration,
  { client, clock, logger, metrics, tracer, watchdog }: StorageParts,
  onGateClosed: () => void,
): ReconcilerStorage {
  watchdog.prepare([WRITE_WORK]);
  const memory = new ClusterMemory({ client, configuration, clock });
  const changed = Promise.withResolvers<undefined>();
  const storage = new MysqlMetadataStorage(
    { ...mysqlOptions(configuration), cluster: memory.identity },
    clock,
    undefined,
    {
      ...rowObservers(configuration, metrics, logger),
      onGateClosed,
      onUnnoted: noting(memory, logger),
      onChanged: () => changed.reject(new DatabaseChangedError()),
      tracer,
      watchdog,
    },
  );
  const run = (stop: AbortSignal): Promise<undefined> => Promise.race([changed.promise, untilAborted(stop)]);
  return { storage, sameDatabase: { name: 'database', group: 'always', run } };
}

function rowObservers(
  configuration: Configuration,
  { sync, storage }: Metrics,
  logger: Logger,
): Pick<StorageObservers, 'onUnfit' | 'onKeyTaken' | 'onCommit'> {
  for (const { kind, indexes } of kindsOf(configuration)) {
    sync.prepareColumns(kind, [...indexes.flat().map(({ name }) => name), 'json', 'proto', 'uid']);
  }
  return {
    onUnfit: ({ kind }, columns) => sync.unfit(kind, columns),
    onKeyTaken: ({ kind, namespace, name, uid }, key) => {
      sync.unfit(kind.kind, ['uid']);
      logger.warn({ kind: kind.kind, namespace, name, uid, key }, KEY_TAKEN);
    },
    onCommit: (commit) => storage.committed(commit),
  };
}

/** The next check comes in seconds. */
function noting(memory: ClusterMemory, logger: Logger): (since: string) => void {
  const complaint = new Complaint(logger, 'It cannot be noted which database this cluster has; trying again');
  return (since) =>
    void memory.note(since).then(
      () => complaint.over(),
      (error: unknown) => complaint.say(error),
    );
}
