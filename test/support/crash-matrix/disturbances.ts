// What can happen at a step: the process dies, the call fails, others act.
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from '../../../src/api/names.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { Blow } from './faulty.ts';
import { clockOf } from './processes.ts';
import { type Disturbance, runTwin, type Scene, type Stage } from './run.ts';

const A_DAY_MS = 86_400_000;

function blow(name: string, what: Blow, more: Partial<Disturbance> = {}): Disturbance {
  return { name, interferes: false, at: () => Promise.resolve(what), ...more };
}

function writer(name: string, act: (stage: Stage, object: KubernetesObject) => Promise<unknown>): Disturbance {
  return {
    name,
    interferes: true,
    at: async (scene) => {
      await interfere(scene, act);
      return undefined;
    },
  };
}

/** What the API server refuses, another client cannot do either. */
async function interfere(
  { stage }: Scene,
  act: (stage: Stage, object: KubernetesObject) => Promise<unknown>,
): Promise<void> {
  try {
    await act(stage, await stage.client.get(stage.ref));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
  }
}

const takeFinalizerOff = (stage: Stage, { metadata }: KubernetesObject): Promise<unknown> =>
  stage.client.mergePatch(stage.ref, {
    metadata: { finalizers: (metadata.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER) },
  });

const annotate = (name: string, value: string | null) => (stage: Stage) =>
  stage.client.mergePatch(stage.ref, { metadata: { annotations: { [name]: value } } });

async function deleteAndRecreate(scene: Scene): Promise<void> {
  const { stage } = scene;
  await interfere(scene, (_stage, { metadata }) => stage.client.delete(stage.ref, { uid: metadata.uid }));
  await runTwin(scene);
  await stage.rest();
  const { namespace, name } = stage.ref;
  const again = {
    ...{ apiVersion: 'michelangelo.api/v2', kind: stage.kind.kind, spec: { entrypoint: 'again' } },
    metadata: { namespace, name, finalizers: [FINALIZER] },
  };
  try {
    await stage.client.create(stage.ref.resource, namespace, again);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
  }
}

/** The process dies, or one call goes wrong. The flow must end as if nothing had happened. */
export const blows: readonly Disturbance[] = [
  blow('killed before', 'kill before'),
  blow('killed after', 'kill after'),
  blow('call fails', 'fail'),
  blow('answer lost', 'lose the answer'),
  blow('answered too late', 'comes late'),
];

/** One more thing that needs more than one step. */
export const others: readonly Disturbance[] = [
  blow('MySQL away', 'fail', { only: 'MySQL', lasts: 3 }),
  blow('gate closed', 'gate closed', { only: 'MySQL', lasts: 3 }),
  blow('row refused', 'is refused', { only: 'MySQL', lasts: 3 }),
  blow('stale read', 'is stale', { only: 'MySQL', lasts: 3, readsStale: true }),
  blow('policy denies', 'is refused', { only: 'API server', lasts: 3 }),
  {
    name: 'clock jumps',
    interferes: false,
    at: ({ stage }) => {
      clockOf(stage).wall(A_DAY_MS);
      clockOf(stage).monotonic(A_DAY_MS);
      return Promise.resolve(undefined);
    },
  },
  {
    name: 'clock set back',
    interferes: false,
    at: ({ stage }) => {
      clockOf(stage).wall(-A_DAY_MS);
      return Promise.resolve(undefined);
    },
  },
  {
    name: 'call delayed',
    interferes: false,
    at: async (scene) => {
      await runTwin(scene);
      return undefined;
    },
  },
  {
    name: 'stale twin',
    interferes: false,
    at: async (scene) => {
      await runTwin(scene, scene.lastRead);
      return undefined;
    },
  },
];

/** Another client writes. The flow may rightly end otherwise, but no guarantee may break. */
export const writers: readonly Disturbance[] = [
  writer('finalizer added again', (stage, object) =>
    stage.client.mergePatch(stage.ref, {
      metadata: { finalizers: [...(object.metadata.finalizers ?? []), FINALIZER] },
    }),
  ),
  { ...writer('finalizer taken off', takeFinalizerOff), takesFinalizerOff: true },
  writer('spec edited', (stage) => stage.client.mergePatch(stage.ref, { spec: { entrypoint: 'edited' } })),
  writer('grown to 1.4 MB', (stage) =>
    stage.client.mergePatch(stage.ref, { spec: { entrypoint: 'x'.repeat(1_400_000) } }),
  ),
  writer('annotations removed', (stage) => stage.client.mergePatch(stage.ref, { metadata: { annotations: null } })),
  writer('Deleting added', annotate(DELETING_ANNOTATION, 'true')),
  writer('Immutable added', annotate(IMMUTABLE_ANNOTATION, 'true')),
  {
    name: 'deleted and re-created',
    interferes: true,
    at: async (scene) => {
      await deleteAndRecreate(scene);
      return undefined;
    },
  },
];
