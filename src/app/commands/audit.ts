import { isAborted } from '../../base/abort.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import { GateHeldError } from '../../storage/errors.ts';
import type { MysqlOptions } from '../../storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import { closeGateWithin, openGateOf } from '../../storage/mysql/tasks/gate-control.ts';
import { auditKind, type KindAudit } from '../../sync/audit/audit.ts';
import { type Repaired, repairKind } from '../../sync/audit/audit-repair.ts';
import { lenientEncoder } from '../../sync/row.ts';
import { usualLimits } from '../../sync/startup/mark-missed-deletes.ts';
import { storageWentBackAt } from '../../sync/status/storage-history.ts';
import { ClusterMemory } from '../cluster-memory.ts';
import { inCluster, kindsOf, resourceOf } from '../kinds.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { sensitiveValues } from '../sensitive.ts';
import { uninstallPhase } from './uninstall.ts';

export interface AuditRun {
  /** All that are configured, where it is empty. */
  readonly kinds: readonly string[];
  readonly repair: 'report' | 'repair';
  readonly restored: 'keep' | 'set-back';
  readonly maxPercent: number | undefined;
  /** The holder that closed the writer gate for this run. */
  readonly gateHolder?: string | undefined;
  /** Asked before each kind; throws where the run must not go on. */
  readonly before?: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface AuditedKind extends KindAudit {
  /** Undefined where no repairs were requested. */
  readonly repaired: readonly Repaired[] | undefined;
}

/** Under this name the gate is closed before rows are set back; the next run goes on where one was killed. */
const GATE_HOLDER = 'audit --repair-restored';
/** A server keeps the locks of a connection that the network lost for a minute and a half. */
const GATE_DEADLINE_MS = 180_000;

const OPEN_AGAIN_MS = 2000;

/** Long enough for a state that is on its way into MySQL to arrive. */
export const SETTLE_MS = 3000;

export async function runAudit(configuration: Configuration, run: AuditRun): Promise<readonly AuditedKind[]> {
  requireStorage(configuration, 'MySQL is compared with the cluster');
  const clock = systemClock;
  const sensitive = sensitiveValues(configuration);
  const kinds = kindsOf(configuration).filter(({ kind }) => run.kinds.length === 0 || run.kinds.includes(kind));
  const client = commandClient(configuration, clock);
  // A report also tells what a handover would end.
  const cluster = run.repair === 'repair' ? new ClusterMemory({ client, clock, configuration }).identity : undefined;
  const mysql = { ...mysqlOptions(configuration), gateHolder: run.gateHolder, cluster };
  if (run.restored === 'set-back' && run.gateHolder === undefined) await refuseEarlierWrites(mysql, run);
  const storage = new MysqlMetadataStorage(mysql, clock);
  try {
    await storage.check(kinds);
    const mayAddFinalizer = (await uninstallPhase(client, configuration, run.signal)) === 'active';
    const audited: AuditedKind[] = [];
    for (const kind of kinds) {
      if (isAborted(run.signal)) break;
      await run.before?.();
      const waits = { settleMs: SETTLE_MS, pageWaitMs: 0 };
      const context = { kind, resource: resourceOf(kind), client, storage, clock, signal: run.signal, ...waits };
      const audit = await auditKind(context);
      const limits = run.maxPercent === undefined ? usualLimits : { maxPercent: run.maxPercent };
      const shared = { encode: lenientEncoder(run.logger), sensitive, kinds: inCluster(kindsOf(configuration)) };
      const options = {
        ...{ ...context, ...shared, limits, mayAddFinalizer },
        storageWentBackAt: () => storageWentBackAt(context, configuration.kubernetes.namespace),
      };
      const repair = (): Promise<readonly Repaired[]> => repairKind(audit, { ...options, restored: run.restored });
      audited.push({ ...audit, repaired: run.repair === 'repair' ? await repair() : undefined });
    }
    return audited;
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}

/**
 * A state of before a restore of etcd may be in the memory of a reconciler still, and must not come into MySQL after the look
 * at the rows, whether it finds one to set back or none. A write that was asked for before the gate was closed is refused,
 * and its object read anew.
 */
async function refuseEarlierWrites(mysql: MysqlOptions, { logger, signal }: AuditRun): Promise<void> {
  const progress = (line: string): void => logger.info({}, line);
  const closing = { holder: GATE_HOLDER, reason: 'rows are set back to the cluster', deadlineMs: GATE_DEADLINE_MS };
  try {
    await closeGateWithin(mysql, { ...closing, clock: systemClock, signal, progress });
  } finally {
    // Also where closing it has failed: the answer may be lost, and the gate be closed.
    await openAgain(mysql, logger);
  }
}

/** A closed gate stops every reconciler, so opening it is tried for as long as a lock may keep it from that. */
async function openAgain(mysql: MysqlOptions, logger: Logger): Promise<void> {
  const deadline = systemClock.monotonicMs() + GATE_DEADLINE_MS;
  for (;;) {
    try {
      await openGateOf(mysql, GATE_HOLDER, systemClock);
      return;
    } catch (error) {
      if (error instanceof GateHeldError) return;
      if (systemClock.monotonicMs() > deadline) {
        const command = `ingester gate open --holder "${GATE_HOLDER}"`;
        logger.error({ err: error }, `The writer gate may be closed, and then nothing is written: ${command}`);
        return;
      }
      logger.warn({ err: error }, 'The writer gate cannot be opened yet; trying again');
      await sleep(systemClock, OPEN_AGAIN_MS, new AbortController().signal);
    }
  }
}
