import type { Runnable } from '../runtime/runnable.ts';
import { ContinuousAudit } from '../sync/continuous-audit.ts';
import { lenientEncoder } from '../sync/encode.ts';
import type { KindLoop, Parts } from './kind-loop.ts';

export function createAuditLoop(loops: readonly KindLoop[], parts: Parts): Runnable {
  const { client, storage, sensitive, clock, configuration, mayMark } = parts;
  const { period, maxVanishedPercent } = configuration.audit;
  const logger = parts.logger.child({ controller: 'ingester_audit' });
  const kinds = loops.map(({ kind, resource }) => ({ kind, resource }));
  const targets = loops.map(({ kind, informer, guard: { resource, metrics } }) => {
    const limits = { maxPercent: maxVanishedPercent };
    const shared = { client, storage, sensitive, clock, encode: lenientEncoder(logger), limits, kinds };
    const options = { kind, resource, ...shared };
    return { options, metrics, isReady: () => informer.synced };
  });
  const audit = new ContinuousAudit({ targets, periodMs: period, mayRepair: mayMark, clock, logger });
  return { name: 'audit', run: (signal) => audit.run(signal) };
}
