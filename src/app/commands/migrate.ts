import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import type { MysqlAccess } from '../../storage/mysql/access.ts';
import {
  createDatabase,
  type MigrateOptions,
  type MigrationReport,
  migrate,
  planMigration,
} from '../../storage/mysql/tasks/migrate.ts';
import { readOriginal } from '../../sync/original-row.ts';
import { kindsOf } from '../kinds.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { sensitiveValues } from '../sensitive.ts';
import type { TaskRun } from './task-run.ts';

export interface MigrateRun extends TaskRun {
  /** `create` makes the database where it is missing. */
  readonly database: 'create' | 'require';
}

/** Brings the database to this version's schema. */
export async function runMigrate(configuration: Configuration, run: MigrateRun): Promise<MigrationReport> {
  const options = migrateOptions(configuration);
  if (run.database === 'create') await createMissing(options.access, run.progress);
  return migrate({ ...options, ...run });
}

export async function createMissing(access: MysqlAccess, progress: TaskRun['progress']): Promise<void> {
  if (await createDatabase(access)) progress(`The database ${access.database} was missing, and is there now.`);
}

/** The statements that a migration would run now. Changes nothing. */
export function dryRunMigrate(configuration: Configuration): Promise<readonly string[]> {
  return planMigration(migrateOptions(configuration));
}

export function migrateOptions(configuration: Configuration): MigrateOptions {
  requireStorage(configuration, 'its database is migrated');
  const sensitive = sensitiveValues(configuration);
  return {
    access: mysqlOptions(configuration),
    kinds: kindsOf(configuration),
    tableNames: configuration.metadataStorage.tableNames,
    readOriginal: (kind, row) => readOriginal(kind, row, sensitive),
    clock: systemClock,
  };
}
