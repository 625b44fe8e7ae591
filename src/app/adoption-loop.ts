// One controller guards the unguarded objects of all kinds: they are few, and share one pace.
import { objectKey } from '../api/object.ts';
import { RequestLimiter } from '../kube/http/limiter.ts';
import { Controller } from '../runtime/controller.ts';
import { enqueueMapped } from '../runtime/handler.ts';
import { objectPredicate } from '../runtime/predicate.ts';
import { done } from '../runtime/reconcile.ts';
import { kindSource, type Source, sourceFunc } from '../runtime/source.ts';
import { Adoption } from '../sync/adoption.ts';
import type { ReadinessCheck } from './health.ts';
import type { KindLoop, Parts } from './kind-loop.ts';

const NAME = 'ingester_adoption';
const WORKERS = 4;
const RETRY_CAP_MS = 30_000;

export interface AdoptionLoop {
  readonly controller: Controller;
  /** Looks again at everything that is unguarded. */
  enqueueAll(): void;
}

export function createAdoption(loops: readonly KindLoop[], parts: Parts): AdoptionLoop {
  const { clock, client, mayGuard } = parts;
  const { rate } = parts.configuration.adoption;
  const limiter = new RequestLimiter({ queriesPerSecond: rate, burst: rate }, clock);
  const logger = parts.logger.child({ controller: NAME });
  const adoptions = new Map(
    loops.map(({ kind, flows, guard: { resource, getObject, metrics } }) => {
      const onAdopted = (): void => metrics.adopted();
      const pace = (signal: AbortSignal): Promise<number> => limiter.acquire(signal);
      const { witness } = flows.options;
      const listeners = { kind, clock, troubles: parts.sync.troubles, ...(witness === undefined ? {} : { witness }) };
      return [
        kind.plural,
        new Adoption({ ...listeners, resource, getObject, client, mayGuard, pace, onAdopted, logger }),
      ];
    }),
  );
  const controller = new Controller({
    name: NAME,
    sources: loops.map(unguardedSource),
    maxConcurrentReconciles: WORKERS,
    retry: { baseMs: 250, capMs: RETRY_CAP_MS },
    reconcile: async (key, context) => {
      const [plural = '', namespace = '', name = ''] = key.split('/');
      return (await adoptions.get(plural)?.reconcile(`${namespace}/${name}`, context)) ?? done;
    },
    metrics: parts.metrics.controllers.forController(NAME),
    mayWork: parts.mayWork,
    clock,
    logger,
  });
  return {
    controller,
    enqueueAll: () => {
      for (const { kind, guard } of loops) {
        for (const key of guard.coverage.unguarded) controller.enqueue(`${kind.plural}/${key}`);
      }
    },
  };
}

/** Nobody waits for its first list: a kind that is not installed must not keep the others from being guarded. */
function unguardedSource({ kind, informer, guard }: KindLoop): Source {
  const source = kindSource({
    name: kind.plural,
    informer: () => informer,
    handler: enqueueMapped((object) => [`${kind.plural}/${objectKey(object)}`]),
    predicates: [objectPredicate((object) => guard.coverage.unguarded.has(objectKey(object)))],
  });
  return sourceFunc(source.name, (context, signal) => source.start(context, signal));
}

/**
 * Ready once every object of the kind was guarded at the same time. Later exceptions are for the metric: an object that
 * cannot be guarded must not hold up a rollout that began without it.
 */
export function guardChecks(loops: readonly KindLoop[]): Readonly<Record<string, ReadinessCheck>> {
  return Object.fromEntries(
    loops.map(({ kind, informer, guard }) => {
      let complete = false;
      return [
        `guard-${kind.plural}`,
        () => {
          const count = guard.coverage.unguarded.size;
          complete ||= informer.synced && count === 0;
          return complete ? undefined : `${count} objects have no finalizer yet`;
        },
      ];
    }),
  );
}
