import { readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import type { FieldError } from '../../base/errors.ts';
import { messageOf } from '../../base/errors.ts';
import { storageEnabled } from '../../config/feature-switches.ts';
import { ConfigurationError } from '../../config/load.ts';
import type { TaskConfiguration } from '../../config/schema.ts';
import type { MysqlAccess } from '../../storage/mysql/access.ts';
import { statementsOf } from '../../storage/mysql/schema/migration-files.ts';
import { type CloneReport, cloneDatabase } from '../../storage/mysql/tasks/clone.ts';
import { maskedValues } from '../../storage/sensitive.ts';
import { resealRow } from '../../sync/reseal.ts';
import { kindsOf } from '../kinds.ts';
import { mysqlOptions, rotatingPassword, tlsOptions } from '../mysql-options.ts';
import { keyring, readKeys } from '../sensitive.ts';
import { createMissing, type MigrateRun, migrateOptions } from './migrate.ts';
import { confirmTarget } from './snapshot.ts';

export interface CloneRun extends MigrateRun {
  /** Has to be the name of the database whose content is replaced; undefined while nothing may be. */
  readonly replaceDataOf: string | undefined;
  readonly gateTimeoutMs: number;
}

export async function runClone(configuration: TaskConfiguration, run: CloneRun): Promise<CloneReport> {
  refuse(configuration);
  if (run.replaceDataOf !== undefined) confirmTarget(configuration, run.replaceDataOf);
  const { clone, metadataStorage } = configuration;
  const others = clone.keyFile === '' ? [] : readKeys('clone.keyFile', clone.keyFile);
  const sensitive = keyring(configuration, others) ?? maskedValues;
  if (run.database === 'create') await createMissing(mysqlOptions(configuration), run.progress);
  return cloneDatabase({
    ...run,
    mysql: mysqlOptions(configuration),
    source: sourceOf(clone),
    kinds: kindsOf(configuration).filter(({ kind }) => !clone.excludeKinds.includes(kind)),
    tableNames: metadataStorage.tableNames,
    excludeNamespaces: clone.excludeNamespaces,
    liveRows: clone.liveRows,
    reseal: (kind, row) => resealRow(kind, row, sensitive),
    postSql: postSqlOf(clone.postSqlFile),
    rowsPerSecond: clone.rowsPerSecond,
    replace: run.replaceDataOf === undefined ? 'refuse' : 'replace',
    clock: systemClock,
    migrate: migrateOptions(configuration),
  });
}

function refuse(configuration: TaskConfiguration): void {
  const { clone } = configuration;
  const errors: FieldError[] = [];
  if (clone.environment === 'Production') {
    const message =
      'is Production, where nothing is ever replaced by a copy. Set it to Development or Staging if it is one';
    errors.push({ path: 'clone.environment', message });
  }
  if (!storageEnabled(configuration)) {
    errors.push({ path: 'metadataStorage.enableMetadataStorage', message: 'set it to true: it is the target' });
  }
  for (const key of ['host', 'user', 'database'] as const) {
    if (clone[key] === '') errors.push({ path: `clone.${key}`, message: 'set it: it says what to copy' });
  }
  if (errors.length > 0) throw new ConfigurationError('task clone', errors);
}

function sourceOf(clone: TaskConfiguration['clone']): MysqlAccess {
  const { host, port, user, passwordFile, database } = clone;
  const tls = tlsOptions(clone, 'clone');
  if (passwordFile !== '') readText('clone.passwordFile', passwordFile);
  return {
    host,
    port,
    user,
    password: passwordFile === '' ? '' : rotatingPassword(passwordFile, ''),
    database,
    ...(tls === undefined ? {} : { tls }),
  };
}

function postSqlOf(file: string): readonly string[] {
  return file === '' ? [] : statementsOf(readText('clone.postSqlFile', file));
}

function readText(path: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError('task clone', [{ path, message: `cannot be read: ${messageOf(error)}` }]);
  }
}
