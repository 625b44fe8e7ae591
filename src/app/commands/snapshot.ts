import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import { ConfigurationError } from '../../config/load.ts';
import type { TaskConfiguration } from '../../config/schema.ts';
import { type RestoreSnapshotReport, restoreSnapshot } from '../../storage/mysql/tasks/restore-snapshot.ts';
import { dropSnapshot, listSnapshots, type SnapshotReport, takeSnapshot } from '../../storage/mysql/tasks/snapshot.ts';
import type { Snapshot } from '../../storage/mysql/tasks/snapshot-store.ts';
import { mysqlOptions } from '../mysql-options.ts';
import type { TaskRun } from './task-run.ts';

export interface SnapshotRun extends TaskRun {
  /** Undefined: the time. */
  readonly id: string | undefined;
  readonly reason: string;
  /** Undefined: as configured. */
  readonly keep: number | undefined;
  readonly referenced: readonly string[];
  readonly gateTimeoutMs: number;
}

export interface RestoreSnapshotRun extends TaskRun {
  readonly id: string;
  /** Has to be the name of the database whose content is replaced. */
  readonly replaceDataOf: string | undefined;
  readonly newer: 'refuse' | 'discard';
  readonly gateTimeoutMs: number;
}

export function runSnapshot(configuration: TaskConfiguration, run: SnapshotRun): Promise<SnapshotReport> {
  const { keep = configuration.snapshots.keep, referenced } = run;
  return takeSnapshot({
    ...run,
    ...placeOf(configuration),
    id: run.id ?? idOf(systemClock.now()),
    retention: { keep, referenced },
  });
}

export function runRestoreSnapshot(
  configuration: TaskConfiguration,
  run: RestoreSnapshotRun,
): Promise<RestoreSnapshotReport> {
  const place = placeOf(configuration);
  confirmTarget(configuration, run.replaceDataOf);
  return restoreSnapshot({ ...run, ...place });
}

export function runListSnapshots(configuration: TaskConfiguration): Promise<readonly Snapshot[]> {
  const { mysql, database } = placeOf(configuration);
  return listSnapshots(mysql, database);
}

export function runRemoveSnapshot(configuration: TaskConfiguration, id: string): Promise<void> {
  const { mysql, database } = placeOf(configuration);
  return dropSnapshot(mysql, database, id);
}

/** The user names the database whose data is replaced, so that a wrong configuration file does no harm. */
export function confirmTarget({ mysql }: TaskConfiguration, named: string | undefined): void {
  if (named === mysql.database) return;
  const said = named === undefined ? '--replace-data-of is missing' : `--replace-data-of names ${named}`;
  throw new ConfigurationError('the database that would be replaced', [
    {
      path: 'mysql.database',
      message: `is ${mysql.database}, and ${said}. Repeat with --replace-data-of ${mysql.database}`,
    },
  ]);
}

function placeOf(
  configuration: TaskConfiguration,
): Pick<Parameters<typeof takeSnapshot>[0], 'mysql' | 'database' | 'tableNames' | 'clock'> {
  requireStorage(configuration, 'snapshots are of its database');
  const { mysql, snapshots, metadataStorage } = configuration;
  return {
    mysql: mysqlOptions(configuration),
    database: snapshots.database === '' ? `${mysql.database}_snapshots` : snapshots.database,
    tableNames: metadataStorage.tableNames,
    clock: systemClock,
  };
}

/** 2026-01-02T03:04:05.678Z → 20260102-030405. */
function idOf(time: Date): string {
  return time.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
}
