import { ConfigurationError } from './load.ts';
import type { Configuration } from './schema.ts';

/**
 * The two opt-in gates of the original.
 * Gate 1: without `metadataStorage.enableMetadataStorage` nothing is ingested, and that is not an error.
 * Gate 2: switched on but with an empty mysql section it refuses to start, naming what to set.
 */
export function storageEnabled(configuration: Configuration): boolean {
  if (!configuration.metadataStorage.enableMetadataStorage) return false;
  const { enabled, host, user, database } = configuration.mysql;
  if (enabled || host !== '' || user !== '' || database !== '') return true;
  throw new ConfigurationError('metadata storage is enabled but the mysql configuration is empty', [
    { path: 'mysql.host', message: 'set it, or set metadataStorage.enableMetadataStorage to false' },
    { path: 'mysql.user', message: 'set it' },
    { path: 'mysql.database', message: 'set it' },
  ]);
}

const WHERE_IT_IS =
  "This command takes the reconciler's configuration, by --config or variables such as INGESTER_MYSQL_HOST. The cluster has it " +
  'in the ConfigMap that the Deployment ingester-reconciler names, and in the Secret ingester-mysql. To run it there: ' +
  'kubectl exec -n ingester-system deployment/ingester-reconciler -- ingester --config /etc/ingester/config/config.yaml ' +
  '<command>; where no such pod runs, see docs/operations.md#inside-the-cluster';

/** Throws where there is no database to work on; `why` says what a command would do with it. */
export function requireStorage(configuration: Configuration, why: string): void {
  if (storageEnabled(configuration)) return;
  throw new ConfigurationError('metadata storage is off', [
    { path: 'metadataStorage.enableMetadataStorage', message: `set it to true: ${why}` },
    { path: '', message: WHERE_IT_IS },
  ]);
}
