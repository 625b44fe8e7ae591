// The audit beside all other work: every kind in turn, slowly, with the repairs that need no decision.
import { isAborted, untilAborted } from '../../base/abort.ts';
import { type Clock, repeat, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { CoverageMetrics } from '../../metrics/coverage.ts';
import { auditKind, type FindingName, findingNames } from './audit.ts';
import { type Repaired, type RepairOptions, repairKind } from './audit-repair.ts';

export interface AuditTarget {
  readonly options: Omit<RepairOptions, 'signal' | 'mayAddFinalizer' | 'restored' | 'settleMs' | 'pageWaitMs'>;
  readonly metrics: Pick<CoverageMetrics, 'audited' | 'missedDeletes'>;
  /** Whether the first list is complete: before that everything is missing. */
  readonly isReady: () => boolean;
}

export interface ContinuousAuditOptions {
  readonly targets: readonly AuditTarget[];
  /** From the end of an audit to the next; 0 for none at all. */
  readonly periodMs: number;
  /** False while the bundle is uninstalled: nothing is compared then. */
  readonly mayRepair: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A restart is a good moment to look, once it has settled. */
const FIRST_AFTER_MS = 60_000;
const SETTLE_MS = 5000;
const PAGE_WAIT_MS = 250;

export class ContinuousAudit {
  readonly #options: ContinuousAuditOptions;

  constructor(options: ContinuousAuditOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { periodMs, clock, targets, mayRepair } = this.#options;
    if (periodMs === 0) {
      await untilAborted(signal);
      return;
    }
    await sleep(clock, Math.min(periodMs, FIRST_AFTER_MS), signal);
    await repeat({ clock, periodMs, signal }, async () => {
      for (const target of targets) {
        if (isAborted(signal)) return;
        if (mayRepair() && target.isReady()) await this.#audit(target, signal);
      }
    });
  }

  /** An outage is no finding: the last figures stay, and the time of the last audit grows old. */
  async #audit({ options, metrics }: AuditTarget, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const context = { ...options, settleMs: SETTLE_MS, pageWaitMs: PAGE_WAIT_MS, signal };
    try {
      const audit = await auditKind(context);
      if (isAborted(signal) || audit.skipped !== undefined) return;
      const repaired = await repairKind(audit, { ...context, mayAddFinalizer: true, restored: 'keep' });
      const ended = repaired.filter(({ finding, outcome }) => finding === 'extra' && outcome === 'repaired').length;
      if (ended > 0) metrics.missedDeletes(ended);
      metrics.audited(openCounts(repaired), clock.now());
      this.#tell(options.kind.kind, repaired);
    } catch (error) {
      if (isAborted(signal)) return;
      logger.warn({ kind: options.kind.kind, err: error }, 'The audit could not compare MySQL with the cluster');
    }
  }

  #tell(kind: string, repaired: readonly Repaired[]): void {
    const { logger } = this.#options;
    for (const { finding, outcome, namespace, name, uid, detail } of repaired) {
      if (outcome === 'passing') continue;
      logger.warn({ kind, namespace, name, uid, finding, outcome }, `The audit found: ${detail}`);
    }
  }
}

function openCounts(repaired: readonly Repaired[]): Readonly<Record<FindingName, number>> {
  const open = repaired.filter(({ outcome }) => outcome !== 'repaired' && outcome !== 'passing');
  const count = (name: FindingName): number => open.filter(({ finding }) => finding === name).length;
  return Object.fromEntries(findingNames.map((name) => [name, count(name)])) as Record<FindingName, number>;
}
