// What keeps one kind complete beyond its ordinary flows: which objects are unguarded, which left unseen, and what need
// not be written at the start because MySQL has it already.
import type { KindDefinition } from '../api/kind.ts';
import { identityOf, type KubernetesObject, objectKey } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { CoverageMetrics } from '../base/metrics-coverage.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import type { Informer } from '../kube/informer.ts';
import type { IdentityStore } from '../kube/store.ts';
import type { Controller } from '../runtime/controller.ts';
import { type Predicate, predicateFuncs } from '../runtime/predicate.ts';
import type { ReconcileResult } from '../runtime/reconcile.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { Coverage } from '../sync/coverage.ts';
import { Departures } from '../sync/departures.ts';
import { Difference } from '../sync/difference.ts';
import { markVanished } from '../sync/vanished.ts';
import { inCluster, kindsOf } from './kinds.ts';

interface Parts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
  readonly metrics: Metrics;
  /** False while the bundle is drained. */
  readonly mayMark: () => boolean;
}

interface Watched {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  readonly informer: Informer<IdentityStore>;
  readonly getObject: (key: string) => Promise<KubernetesObject | undefined>;
}

export interface KindGuard extends Watched {
  readonly coverage: Coverage;
  readonly metrics: CoverageMetrics;
  /** Drops objects of the initial list that MySQL holds as they are. */
  readonly skipUnchanged: Predicate;
  /** A reconcile, and what has to be done around it. */
  around(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult>;
  /** To be called when this process begins to work: from now on it is to know who leaves. */
  begin(): void;
  /** The final state of this object is stored: its row needs no more when it leaves. */
  noteFinished(uid: string): void;
  /** To be called before the controller runs: compares MySQL with the complete list and hands over what differs. */
  startByDifference(controller: Controller, signal: AbortSignal): Promise<void>;
  /** To be called while the controller runs: ends the rows of objects that were deleted while nobody watched. */
  repairMissedDeletes(): Promise<void>;
}

const SYNC_POLL_MS = 50;
const LOAD_TRIES = 3;

export function createKindGuard(watched: Watched, parts: Parts): KindGuard {
  const { kind, informer } = watched;
  const { store } = informer;
  const coverage = new Coverage();
  const departures = createDepartures(parts.logger);
  for (const handler of [coverage, departures]) informer.addHandler(handler);
  const metrics = parts.metrics.coverage.forKind(kind.kind, () => coverage.unguarded.size);
  const evicts = parts.configuration.ingester.evictImmutableKinds && kind.immutable;
  const { client, storage, clock } = parts;
  const context = { ...watched, client, storage, clock, kinds: inCluster(kindsOf(parts.configuration)) };
  const difference = new Difference({
    ...context,
    listed: () => store.values(),
    isPlain: (key) => !evicts && coverage.isPlain(key),
    limits: { maxPercent: parts.configuration.audit.maxVanishedPercent },
    logger: parts.logger,
  });
  return {
    ...watched,
    coverage,
    metrics,
    skipUnchanged: predicateFuncs({
      create: ({ object, initial }) => {
        if (!initial || !difference.isUnchanged(object)) return true;
        store.release(objectKey(object), identityOf(object).resourceVersion);
        return false;
      },
    }),
    begin: () => departures.begin(),
    around: async (key, reconcile) => {
      if (departures.has(key)) await endDeparted(key);
      const seen = store.get(key);
      const result = await reconcile();
      if (result.kind === 'done' && seen !== undefined) store.release(key, identityOf(seen).resourceVersion);
      return result;
    },
    noteFinished: (uid) => departures.noteFinished(uid),
    startByDifference: (controller, signal) => startByDifference(difference, { informer, controller, parts, signal }),
    repairMissedDeletes: async () => {
      if (!parts.mayMark()) return;
      try {
        metrics.vanished(await difference.repairMissedDeletes());
      } catch (error) {
        parts.logger.warn({ err: error }, 'Could not look for missed deletions; the next audit does');
      }
    },
  };

  /** Rows must not stay alive for objects that nobody could hold back. */
  async function endDeparted(key: string): Promise<void> {
    const departed = departures.take(key);
    if (departed.length === 0 || !parts.mayMark()) return;
    try {
      metrics.vanished(await markVanished(context, departed, 'deleted while it had no finalizer'));
    } catch (error) {
      departures.putBack(key, departed);
      throw error;
    }
  }
}

function createDepartures(logger: Logger): Departures {
  let forgot = false;
  return new Departures(() => {
    if (forgot) return;
    forgot = true;
    logger.warn({}, 'Too many objects left before their rows could be ended; the audit ends the rows of the others');
  });
}

interface Start {
  readonly informer: Informer<IdentityStore>;
  readonly controller: Controller;
  readonly parts: Parts;
  readonly signal: AbortSignal;
}

/** Without an answer of MySQL every object is handed over, which costs time but is right too. */
async function startByDifference(
  difference: Difference,
  { informer, controller, parts, signal }: Start,
): Promise<void> {
  const { clock, logger } = parts;
  while (!informer.synced && !isAborted(signal)) await sleep(clock, SYNC_POLL_MS, signal);
  for (let attempt = 1; attempt <= LOAD_TRIES && !isAborted(signal); attempt += 1) {
    try {
      logger.info(await difference.load(), 'Compared with MySQL');
      break;
    } catch (error) {
      logger.warn({ attempt, problem: messageOf(error) }, 'Could not read what MySQL holds already');
      await sleep(clock, 1000 * attempt, signal);
    }
  }
  await controller.warmup(signal);
  difference.forget();
}
