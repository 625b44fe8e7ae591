import { findKind } from '../api/kinds.ts';
import { sleep, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Configuration } from '../config/schema.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { controlRef, isEvictionPaused, readData } from '../sync/control-state.ts';
import { EvictionPausedError } from '../sync/errors.ts';
import { type EvictedNow, evictNow } from '../sync/evict-now.ts';
import { type Chosen, rulesFor } from '../sync/eviction-rules.ts';
import { scan } from '../sync/eviction-scan.ts';
import { commandClient } from './command-client.ts';
import { resourceOf } from './kinds.ts';
import { mysqlOptions } from './mysql-options.ts';
import { sensitiveValues } from './sensitive.ts';

export interface EvictRequest {
  /** Empty: all that are ingested. */
  readonly kinds: readonly string[];
  readonly namespace: string | undefined;
  /** Only asks the rules. */
  readonly dryRun: boolean;
}

export interface EvictReport {
  readonly kind: string;
  readonly chosen: readonly Chosen[];
  /** Empty for a dry run. */
  readonly results: readonly EvictedNow[];
}

/** What the eviction rules choose now, and what became of it. */
export async function runEvict(
  configuration: Configuration,
  request: EvictRequest,
  parts: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<readonly EvictReport[]> {
  const clock = systemClock;
  const client = commandClient(configuration, clock);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), clock);
  const sensitive = sensitiveValues(configuration);
  const names = request.kinds.length > 0 ? request.kinds : configuration.ingester.kinds;
  const reports: EvictReport[] = [];
  try {
    if (!request.dryRun) await refusePaused(configuration, client);
    for (const kind of names.map(findKind).filter((each) => each !== undefined)) {
      const rules = rulesFor(kind, configuration.eviction.rules);
      if (rules.length === 0) continue;
      const resource = resourceOf(kind);
      const where = request.namespace === undefined ? {} : { namespace: request.namespace };
      const chosen = await scan({ client, resource, rules, clock, ...where }, parts.signal);
      const { evictImmutableKinds } = configuration.ingester;
      const { perSecond } = configuration.eviction;
      const options = {
        kind,
        resource,
        client,
        storage,
        sensitive,
        evictImmutableKinds,
        perSecond,
        clock,
        logger: parts.logger,
      };
      const results: EvictedNow[] = [];
      for (const each of request.dryRun ? [] : chosen) {
        if (parts.signal.aborted) break;
        results.push(await evictNow(each, options, parts.signal));
        if (perSecond > 0) await sleep(clock, 1000 / perSecond, parts.signal);
      }
      reports.push({ kind: kind.kind, chosen, results });
    }
    return reports;
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}

async function refusePaused(configuration: Configuration, client: ReturnType<typeof commandClient>): Promise<void> {
  const data = await readData(client, controlRef(configuration.control.namespace));
  if (configuration.eviction.paused || isEvictionPaused(data)) throw new EvictionPausedError();
}
