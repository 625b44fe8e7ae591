import { isAborted } from '../base/abort.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { storageEnabled } from '../config/gates.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { auditKind, type KindAudit } from '../sync/audit.ts';
import { type Repaired, repairKind } from '../sync/audit-repair.ts';
import { lenientEncoder } from '../sync/encode.ts';
import { commandClient } from './command-client.ts';
import { drainPhase } from './drain-phase.ts';
import { inCluster, kindsOf, resourceOf } from './kinds.ts';
import { mysqlOptions } from './mysql-options.ts';
import { sensitiveValues } from './sensitive.ts';

export interface AuditRun {
  /** All that are configured, where it is empty. */
  readonly kinds: readonly string[];
  readonly repair: 'report' | 'repair';
  readonly restored: 'keep' | 'set-back';
  readonly maxPercent: number | undefined;
  /** Who closed the writer gate for this run. */
  readonly gateHolder?: string | undefined;
  /** Asked before each kind; throws where the run must not go on. */
  readonly before?: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface AuditedKind extends KindAudit {
  /** Undefined where nobody asked for repairs. */
  readonly repaired: readonly Repaired[] | undefined;
}

/** Long enough for a state that is on its way into MySQL to arrive. */
const SETTLE_MS = 3000;

export async function runAudit(configuration: Configuration, run: AuditRun): Promise<readonly AuditedKind[]> {
  if (!storageEnabled(configuration)) {
    throw new ConfigurationError('metadata storage is off', [
      { path: 'metadataStorage.enableMetadataStorage', message: 'set it to true to compare MySQL with the cluster' },
    ]);
  }
  const clock = systemClock;
  const sensitive = sensitiveValues(configuration);
  const kinds = kindsOf(configuration).filter(({ kind }) => run.kinds.length === 0 || run.kinds.includes(kind));
  const client = commandClient(configuration, clock);
  const storage = new MysqlMetadataStorage({ ...mysqlOptions(configuration), gateHolder: run.gateHolder }, clock);
  try {
    await storage.check(kinds);
    const mayGuard = (await drainPhase(client, configuration, run.signal)) === 'active';
    const audited: AuditedKind[] = [];
    for (const kind of kinds) {
      if (isAborted(run.signal)) break;
      await run.before?.();
      const waits = { settleMs: SETTLE_MS, pageWaitMs: 0 };
      const context = { kind, resource: resourceOf(kind), client, storage, clock, signal: run.signal, ...waits };
      const audit = await auditKind(context);
      const maxPercent = run.maxPercent ?? configuration.audit.maxVanishedPercent;
      const shared = { encode: lenientEncoder(run.logger), sensitive, kinds: inCluster(kindsOf(configuration)) };
      const options = { ...context, ...shared, limits: { maxPercent }, mayGuard };
      const repaired =
        run.repair === 'repair' ? await repairKind(audit, { ...options, restored: run.restored }) : undefined;
      audited.push({ ...audit, repaired });
    }
    return audited;
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}
