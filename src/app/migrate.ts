import { findKind } from '../api/kinds.ts';
import { storageEnabled } from '../config/gates.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import { migrate } from '../storage/mysql/migrate.ts';
import { knownMigrationNames, migrationsFor } from '../storage/mysql/migration-files.ts';
import { mysqlOptions } from './mysql-options.ts';

/** Brings the database to this version's schema and returns the names of the migrations applied now. */
export async function runMigrate(configuration: Configuration): Promise<readonly string[]> {
  if (!storageEnabled(configuration)) {
    throw new ConfigurationError('metadata storage is off', [
      { path: 'metadataStorage.enableMetadataStorage', message: 'set it to true to migrate the database' },
    ]);
  }
  const kinds = configuration.ingester.kinds.map(findKind).filter((kind) => kind !== undefined);
  return migrate(mysqlOptions(configuration), migrationsFor(kinds), knownMigrationNames());
}
