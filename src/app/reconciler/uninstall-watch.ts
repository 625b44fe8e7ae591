import { UNINSTALL_MARKER } from '../../api/names.ts';
import { Informer } from '../../kube/informer.ts';
import { configMaps } from '../../kube/resources.ts';
import { IdentityStore } from '../../kube/store.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
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
  const selection = { namespace, fieldSelector: `metadata.name=${UNINSTALL_MARKER}` };
  const informer = new Informer({
    client,
    resource: configMaps,
    store: new IdentityStore(),
    clock,
    logger,
    selection,
    watchdog,
  });
  let known: UninstallPhase = 'active';
  const read = ({ watched }: KnownObject): void => become(phaseOf(watched?.parse()));
  const become = (phase: UninstallPhase): void => {
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
  informer.addHandler({ add: read, update: (_, after) => read(after), delete: () => become('active') });
  return {
    phase: () => (informer.synced ? known : undefined),
    runnable: { name: 'watch uninstall marker', group: 'cache', run: (signal) => informer.run(signal) },
  };
}
