import type { KindDefinition } from '../../api/kind.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { dataOf } from '../../kube/resources.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import { EvictionPausedError } from '../../sync/errors.ts';
import { type EvictedNow, evictNow } from '../../sync/eviction/evict-now.ts';
import { type Chosen, rulesFor } from '../../sync/eviction/eviction-rules.ts';
import { scan } from '../../sync/eviction/eviction-scan.ts';
import { controlRef, isEvictionPaused } from '../../sync/flows/control-state.ts';
import { lenientEncoder } from '../../sync/row.ts';
import { ClusterMemory } from '../cluster-memory.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { everyKind, kindsOf, resourceOf } from '../kinds.ts';
import { createClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { createSyncParts, type SyncParts } from '../reconciler/sync-parts.ts';
import { sensitiveValues } from '../sensitive.ts';
import { uninstallPhase } from './uninstall.ts';

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
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<readonly EvictReport[]> {
  const kinds = kindsFor(configuration, request).filter(
    (kind) => rulesFor(kind, configuration.eviction.rules).length > 0,
  );
  if (kinds.length === 0) return [];
  const clock = systemClock;
  const metrics = createMetrics();
  const client = createClient(configuration, clock, metrics);
  const cluster = new ClusterMemory({ client, clock, configuration }).identity;
  const storage = new MysqlMetadataStorage({ ...mysqlOptions(configuration), cluster }, clock);
  const parts = { client, clock, logger, metrics, storage, configuration: onThisMachine(configuration) };
  const reports: EvictReport[] = [];
  try {
    const sensitive = sensitiveValues(configuration);
    await asReconciler({ ...parts, sensitive, request, signal }, async (evictChosen) => {
      for (const kind of kinds) {
        const rules = rulesFor(kind, configuration.eviction.rules);
        const where = request.namespace === undefined ? {} : { namespace: request.namespace };
        const chosen = await scan({ client, resource: resourceOf(kind), rules, clock, ...where }, signal);
        const results = request.dryRun ? [] : await evictChosen(kind, chosen);
        reports.push({ kind: kind.kind, chosen, results });
      }
    });
    return reports;
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}

function kindsFor(configuration: Configuration, { kinds }: EvictRequest): readonly KindDefinition[] {
  if (kinds.length === 0) return kindsOf(configuration);
  return everyKind().filter(({ kind }) => kinds.includes(kind));
}

/** A command removes no finalizer without MySQL: the disk for that is the reconciler's. */
function onThisMachine(configuration: Configuration): Configuration {
  return { ...configuration, outage: { ...configuration.outage, policy: 'wait', spoolDirectory: '' } };
}

interface Evicting extends Omit<Parameters<typeof createSyncParts>[0], 'events' | 'away'> {
  readonly storage: MysqlMetadataStorage;
  readonly request: EvictRequest;
  readonly signal: AbortSignal;
}

type EvictChosen = (kind: KindDefinition, chosen: readonly Chosen[]) => Promise<readonly EvictedNow[]>;

/** Brings what the flows of the reconciler need, as it is made for the reconciler, and keeps it going for the work. */
async function asReconciler(parts: Evicting, work: (evictChosen: EvictChosen) => Promise<void>): Promise<void> {
  const { client, configuration, request, signal } = parts;
  const events = createEventRecorder(parts);
  const sync = createSyncParts({ ...parts, events, away: () => undefined });
  const ended = new AbortController();
  const running = [events.run(ended.signal)];
  try {
    if (!request.dryRun) {
      await refusePaused(configuration, client);
      await sync.control.refresh();
      running.push(sync.control.run(ended.signal));
    }
    const mayAddFinalizer = (await uninstallPhase(client, configuration, signal)) === 'active' ? 'yes' : 'no';
    await work((kind, chosen) => evictAll({ ...parts, sync, mayAddFinalizer }, kind, chosen));
  } finally {
    ended.abort();
    await Promise.all(running);
  }
}

async function evictAll(
  parts: Evicting & { readonly sync: SyncParts; readonly mayAddFinalizer: 'yes' | 'no' },
  kind: KindDefinition,
  chosen: readonly Chosen[],
): Promise<readonly EvictedNow[]> {
  const { client, storage, sensitive, clock, logger, sync, mayAddFinalizer, signal } = parts;
  const total = await countObjects(parts, kind);
  const { options, chosen: remembered } = sync.ofKind(kind, () => total);
  remembered.replace(chosen);
  const shared = { client, storage, sensitive, clock, logger, encode: lenientEncoder(logger) };
  const flow = { ...options, ...shared, kind, resource: resourceOf(kind), mayAddFinalizer: () => mayAddFinalizer };
  const results: EvictedNow[] = [];
  for (const each of chosen) {
    if (signal.aborted) break;
    results.push(await evictNow(each, flow, signal));
  }
  return results;
}

const PAGE = 500;

/** Only needed for a breaker with a limit in percent. */
async function countObjects({ client, configuration, signal }: Evicting, kind: KindDefinition): Promise<number> {
  if (configuration.deletionBreaker.percent === 0) return 0;
  let count = 0;
  let next: string | undefined;
  do {
    const from = next === undefined ? {} : { continueToken: next };
    const page = await client.list(resourceOf(kind), { limit: PAGE, metadataOnly: true, ...from }, signal);
    count += page.items.length;
    next = page.continueToken;
  } while (next !== undefined);
  return count;
}

async function refusePaused(configuration: Configuration, client: Pick<KubeClient, 'get'>): Promise<void> {
  const data = dataOf(await client.get(controlRef(configuration.kubernetes.namespace)));
  if (isEvictionPaused(data)) throw new EvictionPausedError();
}
