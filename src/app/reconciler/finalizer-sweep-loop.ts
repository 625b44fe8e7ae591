// One controller adds the finalizer to the unguarded objects of all kinds: they are few, and share one pace.

import type { KindDefinition } from '../../api/kind.ts';
import { TokenBucket } from '../../base/token-bucket.ts';
import { Controller } from '../../runtime/controller.ts';
import { enqueueMapped } from '../../runtime/handler.ts';
import { objectPredicate } from '../../runtime/predicate.ts';
import { retryUpTo } from '../../runtime/rate-limiter.ts';
import { done } from '../../runtime/reconcile.ts';
import { kindSource, type Source, sourceFunc } from '../../runtime/source.ts';
import { FinalizerSweep } from '../../sync/flows/finalizer-sweep.ts';
import { partOf } from '../../sync/share.ts';
import type { ReadinessCheck } from '../health.ts';
import type { KindLoop, LoopOf, Parts } from './kind-loop.ts';

const NAME = 'ingester_finalizer_sweep';
const WORKERS = 4;
const RETRY_CAP_MS = 30_000;

export interface FinalizerSweepLoop {
  readonly controller: Controller;
  /** Enqueues every unguarded object again. */
  enqueueAll(): void;
}

export function createFinalizerSweep(loops: readonly KindLoop[], parts: Parts): FinalizerSweepLoop {
  const { clock, client, mayAddFinalizer } = parts;
  const rate = (): number => partOf(parts.configuration.finalizerSweep.rate, parts.share);
  const limit = {
    get perSecond() {
      return rate();
    },
    get burst() {
      return rate();
    },
  };
  const limiter = new TokenBucket(limit, clock);
  const logger = parts.logger.child({ controller: NAME });
  const sweeps = new Map(
    loops.map(({ kind, flows, resource, objects, metrics }) => {
      const getObject = (key: string): ReturnType<typeof objects.get> => objects.get(key);
      const onAdded = (): void => metrics.swept();
      const pace = (signal: AbortSignal): Promise<number> => limiter.acquire(signal);
      const { recordEvent } = flows.options;
      const listeners = {
        kind,
        clock,
        failingObjects: parts.sync.failingObjects,
        ...(recordEvent === undefined ? {} : { recordEvent }),
      };
      return [
        kind.plural,
        new FinalizerSweep({ ...listeners, resource, getObject, client, mayAddFinalizer, pace, onAdded, logger }),
      ];
    }),
  );
  const controller = new Controller({
    name: NAME,
    sources: loops.map(unguardedSource),
    maxConcurrentReconciles: WORKERS,
    retry: retryUpTo(RETRY_CAP_MS),
    reconcile: async (key, context) => {
      const [plural = '', namespace = '', name = ''] = key.split('/');
      return (await sweeps.get(plural)?.reconcile(`${namespace}/${name}`, context)) ?? done;
    },
    metrics: parts.metrics.controllers.forController(NAME),
    mayWork: parts.mayWork,
    clock,
    logger,
  });
  return {
    controller,
    enqueueAll: () => {
      for (const { kind, completeness } of loops) {
        for (const key of completeness.coverage.unguarded) controller.enqueue(`${kind.plural}/${key}`);
      }
    },
  };
}

/** Nothing waits for its first list: a kind that is not installed must not keep the others from being guarded. */
function unguardedSource({ kind, informer, completeness }: KindLoop): Source {
  const source = kindSource({
    name: kind.plural,
    informer: () => informer,
    handler: enqueueMapped(({ key }) => [`${kind.plural}/${key}`]),
    predicates: [objectPredicate(({ key }) => completeness.coverage.unguarded.has(key))],
  });
  return sourceFunc(source.name, (context, signal) => source.start(context, signal));
}

/**
 * Ready once every object of the kind was guarded at the same time. Later exceptions are for the metric: an object that
 * cannot be guarded must not hold up a rollout that began without it.
 */
export function finalizerChecks(
  kinds: readonly KindDefinition[],
  loopOf: LoopOf,
): Readonly<Record<string, ReadinessCheck>> {
  return Object.fromEntries(
    kinds.map((kind) => {
      let complete = false;
      return [
        `finalizers-${kind.plural}`,
        () => {
          const loop = loopOf(kind);
          if (loop === undefined) return undefined;
          const count = loop.completeness.coverage.unguarded.size;
          complete ||= loop.informer.synced && count === 0;
          return complete ? undefined : `${count} objects have no finalizer yet`;
        },
      ];
    }),
  );
}
