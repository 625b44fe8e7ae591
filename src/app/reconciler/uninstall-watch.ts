import { UNINSTALL_MARKER } from '../../api/names.ts';
import { objectKey } from '../../api/object.ts';
import { Informer } from '../../kube/informer.ts';
import { configMaps } from '../../kube/resources.ts';
import { FullStore } from '../../kube/store.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { phaseOf, type UninstallPhase } from '../../sync/uninstall/uninstall-marker.ts';
import type { Parts } from './kind-loop.ts';

export interface UninstallWatch {
  /** Undefined before the marker was read. */
  phase(): UninstallPhase | undefined;
  readonly runnable: Runnable;
}

/** Follows the marker, so that nothing is guarded again while an uninstall is under way. `onActive`: it was undone. */
export function watchUninstallMarker(
  {
    client,
    clock,
    logger,
    configuration,
    watchdog,
  }: Pick<Parts, 'client' | 'clock' | 'logger' | 'configuration' | 'watchdog'>,
  onActive: () => void,
): UninstallWatch {
  const { namespace } = configuration.kubernetes;
  const store = new FullStore();
  const selection = { namespace, fieldSelector: `metadata.name=${UNINSTALL_MARKER}` };
  const informer = new Informer({ client, resource: configMaps, store, clock, logger, selection, watchdog });
  const key = objectKey({ metadata: { namespace, name: UNINSTALL_MARKER } });
  const current = (): UninstallPhase => phaseOf(store.get(key));
  let known: UninstallPhase = 'active';
  const changed = (): void => {
    const phase = current();
    if (phase === known) return;
    known = phase;
    if (phase === 'active') {
      logger.info({ phase }, 'The uninstall was undone; unguarded objects are given the finalizer');
      onActive();
    } else {
      logger.warn(
        { phase },
        'The bundle is being uninstalled: no object is given the finalizer and no row is marked deleted',
      );
    }
  };
  informer.addHandler({ add: changed, update: changed, delete: changed });
  return {
    phase: () => (informer.synced ? current() : undefined),
    runnable: { name: 'watch uninstall marker', group: 'cache', run: (signal) => informer.run(signal) },
  };
}
