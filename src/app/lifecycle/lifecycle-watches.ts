// What the lifecycle controller watches.
import { INGESTER_GROUP, INGESTER_KIND } from '../../api/ingester.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Watchdog } from '../../base/watchdog.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { Informer } from '../../kube/informer.ts';
import { IdentityStore } from '../../kube/store.ts';
import { childKinds, jobs } from '../../lifecycle/children/kinds.ts';
import { ingesters } from '../../lifecycle/reconcile/reconciler.ts';
import { enqueueForObject, enqueueForOwner } from '../../runtime/handler.ts';
import { kindSource, type Source } from '../../runtime/source.ts';
import type { ReadinessCheck } from '../health.ts';

interface WatchedResource {
  readonly resource: Resource;
  readonly owned: boolean;
}

/** What triggers a reconcile; a reconcile reads everything anew. */
const watched: readonly WatchedResource[] = [
  { resource: ingesters, owned: false },
  { resource: childKinds.deployment.resource, owned: true },
  { resource: childKinds.service.resource, owned: true },
  { resource: jobs, owned: true },
];

interface LifecycleWatch {
  readonly name: string;
  readonly informer: Informer;
  readonly source: Source;
}

interface WatchParts {
  readonly client: Pick<KubeClient, 'list' | 'newest' | 'watch'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly namespace: string;
  readonly watchdog: Watchdog;
}

export function watchForLifecycle(parts: WatchParts): readonly LifecycleWatch[] {
  return watched.map((each) => informerOf(each, parts));
}

/** No traffic depends on this readiness: it shows whether the controller can do its work. */
export function lifecycleChecks(
  watching: readonly Pick<LifecycleWatch, 'name' | 'informer'>[],
  watchdog: Watchdog,
): Readonly<Record<string, ReadinessCheck>> {
  const lists = watching.map(({ name, informer }) => {
    const check = (): string | undefined => {
      if (!informer.installed) return 'the CRD is not installed';
      return informer.synced ? undefined : 'the first list is not complete';
    };
    return [`watch-${name}`, check] as const;
  });
  return { progress: () => watchdog.problem, ...Object.fromEntries(lists) };
}

function informerOf({ resource, owned }: WatchedResource, parts: WatchParts): LifecycleWatch {
  const { client, clock, logger, namespace, watchdog } = parts;
  const name = resource.plural;
  const selection = { namespace, ...(owned ? { labelSelector: INGESTER_LABEL } : {}) };
  const informer = new Informer({
    client,
    resource,
    store: new IdentityStore(),
    clock,
    logger,
    selection,
    watchdog,
  });
  watchdog.prepare([`list ${name}`, `watch ${name}`]);
  const handler = owned ? enqueueForOwner({ group: INGESTER_GROUP, kind: INGESTER_KIND }) : enqueueForObject();
  return { name, informer, source: kindSource({ name, informer: () => informer, handler }) };
}
