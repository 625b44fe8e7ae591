// Brings a database into use: its tables, the columns that follow from the objects, rows and finalizers of everything that
// is in the cluster; and then proves that both sides agree.
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import { attemptOf, type Exclusive, exclusively } from '../../storage/mysql/tasks/exclusive-task.ts';
import { migrateWithin } from '../../storage/mysql/tasks/migrate.ts';
import { findingNames } from '../../sync/audit/audit.ts';
import { openFindings, type Repaired } from '../../sync/audit/audit-repair.ts';
import { AuditFindingsError } from '../../sync/errors.ts';
import { kindsOf } from '../kinds.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { type AuditedKind, runAudit } from './audit.ts';
import { migrateOptions } from './migrate.ts';
import type { TaskRun } from './task-run.ts';

export interface InitReport {
  /** Migrations that were missing. */
  readonly applied: readonly string[];
  /** Rows whose columns, labels or annotations did not follow from their objects. */
  readonly backfilled: number;
  /** What was repaired, by finding: rows written, finalizers added. */
  readonly repaired: Readonly<Record<string, number>>;
  /** Kinds without a CRD. */
  readonly skipped: readonly string[];
  readonly objects: number;
  readonly rows: number;
}

export interface InitRun extends TaskRun {
  readonly logger: Logger;
}

/** Running it again changes nothing. Throws AUDIT_FINDINGS where the two sides still differ in the end. */
export async function runInit(configuration: Configuration, run: InitRun): Promise<InitReport> {
  const options = migrateOptions(configuration);
  const task = { access: options.access, ...attemptOf('init', run.attempt), tables: 'create' } as const;
  const { result } = await exclusively(task, (exclusive) => initialize(configuration, exclusive, run));
  return result;
}

async function initialize(configuration: Configuration, exclusive: Exclusive, run: InitRun): Promise<InitReport> {
  const { progress, gateHolder } = run;
  const { applied } = await migrateWithin(exclusive, { ...migrateOptions(configuration), progress, gateHolder });
  const backfilled = await backfillAll(configuration, exclusive, run);
  const audited: (readonly AuditedKind[])[] = [];
  for (let isOpen = true; isOpen; ) {
    const before = audited.at(-1);
    progress(
      before === undefined ? 'storing what the cluster has, with the finalizer' : 'comparing both sides once more',
    );
    const round = await auditOnce(configuration, exclusive, run);
    run.signal.throwIfAborted();
    audited.push(round);
    const open = openFindings(repairsOf(round), before === undefined ? undefined : repairsOf(before));
    isOpen = open.length > 0;
    if (isOpen && audited.length === MOST_ROUNDS) throw new AuditFindingsError(open);
  }
  return { applied, backfilled, repaired: countRepairs(audited.flat()), ...totals(audited.at(-1) ?? []) };
}

/** Adding the finalizer changes an object, so its row has to follow in the round after, and be found to have. */
const MOST_ROUNDS = 4;

function repairsOf(audited: readonly AuditedKind[]): readonly Repaired[] {
  return audited.flatMap(({ repaired = [] }) => repaired);
}

function auditOnce(configuration: Configuration, exclusive: Exclusive, run: InitRun): Promise<readonly AuditedKind[]> {
  return runAudit(configuration, {
    kinds: [],
    repair: 'repair',
    restored: 'keep',
    maxPercent: undefined,
    gateHolder: run.gateHolder,
    before: () => goOn(exclusive, run),
    logger: run.logger,
    signal: run.signal,
  });
}

async function goOn({ connection, pass }: Exclusive, { signal }: InitRun): Promise<void> {
  signal.throwIfAborted();
  await pass(connection);
}

async function backfillAll(configuration: Configuration, exclusive: Exclusive, run: InitRun): Promise<number> {
  const mysql = { ...mysqlOptions(configuration), gateHolder: run.gateHolder };
  const storage = new MysqlMetadataStorage(mysql, systemClock);
  let changed = 0;
  try {
    for (const kind of kindsOf(configuration)) {
      await goOn(exclusive, run);
      const done = await storage.backfill(kind, { signal: run.signal });
      changed += done.changed;
      if (done.scanned > 0) run.progress(`${kind.table}: ${done.scanned} rows looked at, ${done.changed} filled in`);
    }
  } finally {
    await storage.close();
  }
  return changed;
}

function countRepairs(audited: readonly AuditedKind[]): Readonly<Record<string, number>> {
  const done = repairsOf(audited).filter(({ outcome }) => outcome === 'repaired');
  const counts = findingNames.map((name) => [name, done.filter(({ finding }) => finding === name).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function totals(audited: readonly AuditedKind[]): Pick<InitReport, 'skipped' | 'objects' | 'rows'> {
  return {
    skipped: audited.filter(({ skipped }) => skipped !== undefined).map(({ kind }) => kind.kind),
    objects: audited.reduce((sum, { objects }) => sum + objects, 0),
    rows: audited.reduce((sum, { rows }) => sum + rows, 0),
  };
}
