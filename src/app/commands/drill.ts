// A rehearsal of a disaster: could the database that is configured, as a rule a backup that was restored beside the one in
// use, take over now? Reads it whole, compares it with the cluster, and asks the API server whether evicted objects could
// come back. Writes nothing, to either side.
import { systemClock } from '../../base/clock.ts';
import { CodedError, messageOf } from '../../base/errors.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { MetadataStorage, Tombstone } from '../../storage/metadata-storage.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { auditKind, type KindAudit } from '../../sync/audit/audit.ts';
import { restore } from '../../sync/restore.ts';
import { kindsOf, resourceOf } from '../kinds.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { sensitiveValues } from '../sensitive.ts';
import { SETTLE_MS } from './audit.ts';

export interface DrillRun {
  /** Evicted objects of each kind that the API server is asked about, at most. */
  readonly sample: number;
  readonly signal: AbortSignal;
  /** One line for each kind that is begun. */
  readonly progress: (line: string) => void;
}

export interface KindDrill {
  readonly kind: string;
  /** Objects in the cluster; undefined where its CRD is not there, and nothing could be compared. */
  readonly objects: number | undefined;
  /** Of these, those whose row is missing or older: the reconciler would store them again. */
  readonly storedAgain: number;
  /** Live rows whose objects are gone: they would end. */
  readonly ended: number;
  /** Rows that cannot be read, or are not what was written: `namespace/name: why`. */
  readonly unreadable: readonly string[];
  readonly restorable: number;
  /** Evicted objects that the API server would not take back: `namespace/name: why`. */
  readonly notRestorable: readonly string[];
}

export interface Drill {
  /** Up to when all kinds are complete, RFC 3339; undefined where none was ever. */
  readonly completeUpTo: string | undefined;
  readonly kinds: readonly KindDrill[];
  readonly seconds: number;
}

/** Throws where the database could not be used at all: login, server, schema, tables. */
export async function runDrill(configuration: Configuration, run: DrillRun): Promise<Drill> {
  requireStorage(configuration, 'its database is tried');
  const beganMs = systemClock.monotonicMs();
  const kinds = kindsOf(configuration);
  const client = commandClient(configuration, systemClock);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), systemClock);
  const parts = { client, storage, sensitive: sensitiveValues(configuration) };
  try {
    await storage.check(kinds);
    const positions = await storage.positions();
    const drilled: KindDrill[] = [];
    for (const kind of kinds) {
      run.signal.throwIfAborted();
      run.progress(`reading ${kind.plural}`);
      const waits = { settleMs: SETTLE_MS, pageWaitMs: 0 };
      const context = { kind, resource: resourceOf(kind), client, storage, clock: systemClock, signal: run.signal };
      const audit = await auditKind({ ...context, ...waits });
      drilled.push(kindDrill(audit, await tryRestores(audit, parts, run)));
    }
    const seconds = Math.round((systemClock.monotonicMs() - beganMs) / 1000);
    return { completeUpTo: positions.map(({ at }) => at).sort()[0], kinds: drilled, seconds };
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}

interface RestoreParts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly sensitive: SensitiveValues;
}

type Tried = Pick<KindDrill, 'restorable' | 'notRestorable'>;

/** Without its CRD nothing of a kind can come back, and that is no fault of the database. */
async function tryRestores({ kind, skipped }: KindAudit, parts: RestoreParts, run: DrillRun): Promise<Tried> {
  const notRestorable: string[] = [];
  if (skipped !== undefined || run.sample === 0) return { restorable: 0, notRestorable };
  const evicted = await parts.storage.tombstones(kind, { limit: run.sample });
  for (const each of evicted) {
    run.signal.throwIfAborted();
    const problem = await whyNotRestorable(kind, each, parts);
    if (problem !== undefined) notRestorable.push(`${each.namespace}/${each.name}: ${problem}`);
  }
  return { restorable: evicted.length - notRestorable.length, notRestorable };
}

async function whyNotRestorable(
  kind: KindAudit['kind'],
  { namespace, name, uid }: Tombstone,
  parts: RestoreParts,
): Promise<string | undefined> {
  try {
    await restore({ kind, namespace, name, uid, dryRun: true }, { ...parts, resource: resourceOf(kind) });
    return undefined;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return `${messageOf(error)} [${error.code}]`;
  }
}

function kindDrill({ kind, skipped, objects, findings }: KindAudit, tried: Tried): KindDrill {
  const count = (...names: readonly string[]): number =>
    findings.filter(({ finding }) => names.includes(finding)).length;
  return {
    kind: kind.kind,
    objects: skipped === undefined ? objects : undefined,
    storedAgain: count('missing', 'stale'),
    ended: count('extra'),
    unreadable: findings
      .filter(({ finding }) => finding === 'unreadable')
      .map(({ namespace, name, detail }) => `${namespace}/${name}: ${detail}`),
    ...tried,
  };
}
