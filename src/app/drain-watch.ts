import { DRAIN_MARKER } from '../api/names.ts';
import { objectKey } from '../api/object.ts';
import { Informer } from '../kube/informer.ts';
import { FullStore } from '../kube/store.ts';
import type { Runnable } from '../runtime/runnable.ts';
import { configMaps, type DrainPhase, phaseOf } from '../sync/drain-marker.ts';
import type { Parts } from './kind-loop.ts';

export interface DrainWatch {
  /** Undefined before the marker was read. */
  phase(): DrainPhase | undefined;
  readonly runnable: Runnable;
}

/** Follows the marker, so that nothing is guarded again while somebody drains. `onActive`: a drain was undone. */
export function watchDrainMarker(
  {
    client,
    clock,
    logger,
    configuration,
    watchdog,
  }: Pick<Parts, 'client' | 'clock' | 'logger' | 'configuration' | 'watchdog'>,
  onActive: () => void,
): DrainWatch {
  const { namespace } = configuration.drain;
  const store = new FullStore();
  const selection = { namespace, fieldSelector: `metadata.name=${DRAIN_MARKER}` };
  const informer = new Informer({ client, resource: configMaps, store, clock, logger, selection, watchdog });
  const key = objectKey({ metadata: { namespace, name: DRAIN_MARKER } });
  const current = (): DrainPhase => phaseOf(store.get(key));
  let known: DrainPhase = 'active';
  const changed = (): void => {
    const phase = current();
    if (phase === known) return;
    known = phase;
    if (phase === 'active') {
      logger.info({ phase }, 'The drain was undone; unguarded objects are given the finalizer');
      onActive();
    } else {
      logger.warn(
        { phase },
        'The bundle is being drained: no object is given the finalizer and no row is marked deleted',
      );
    }
  };
  informer.addHandler({ add: changed, update: changed, delete: changed });
  return {
    phase: () => (informer.synced ? current() : undefined),
    runnable: { name: 'watch drain marker', group: 'cache', run: (signal) => informer.run(signal) },
  };
}
