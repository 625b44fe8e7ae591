// The objects that a plan asks for, and which of their names others have.
import type { KubernetesObject } from '../api/object.ts';
import { valueAt } from '../base/json.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { componentChildren, maintenanceChildren } from './children/components.ts';
import { tasksConfig, tasksConfigName } from './children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobKind, keyOf } from './children/kinds.ts';
import { childName, type Parent } from './children/names.ts';
import { networkChildren, serviceChildren } from './children/network.ts';
import type { Observation } from './observe.ts';
import { isOurs } from './owner.ts';
import type { World } from './plan.ts';

export interface Wanting {
  readonly parent: Parent;
  readonly world: World;
  readonly seen: Pick<Observation, 'children' | 'jobs'>;
}

/** What others need comes before what needs it. */
export function wantedChildren({ parent, world, seen }: Wanting): readonly Child[] {
  const { spec, serving } = world;
  return [
    ...(world.components === 'apply' ? componentChildren(parent, serving, liveReplicas(parent, seen)) : []),
    ...(world.maintenance === 'apply' ? maintenanceChildren(parent, spec) : []),
    ...serviceChildren(parent, spec, world.service),
    ...networkChildren(parent, spec),
  ];
}

export function tasksConfigChild(parent: Parent, { serving }: World): Child {
  return { kind: childKinds.configMap, name: tasksConfigName(parent), body: tasksConfig(parent, serving) };
}

/**
 * Names that are wanted and that somebody else has, as `Kind/name`. Only what is not there as ours is asked for: once all
 * is made, nothing.
 */
export async function takenNames(client: Pick<KubeClient, 'get'>, input: Wanting): Promise<readonly string[]> {
  const { parent, world, seen } = input;
  const children: readonly Pick<Child, 'kind' | 'name'>[] = wantedChildren(input);
  const { job } = world;
  const ofJob = job && [tasksConfigChild(parent, world), { kind: jobKind, name: childName(parent, job.step) }];
  const ours = new Set([
    ...seen.children.map(({ kind, object }) => keyOf({ kind, name: object.metadata.name })),
    ...seen.jobs.map(({ metadata }) => keyOf({ kind: jobKind, name: metadata.name })),
  ]);
  const missing = [...children, ...(ofJob ?? [])].filter((child) => !ours.has(keyOf(child)));
  const found = await Promise.all(missing.map(({ kind, name }) => getOrNone(client, refOf(parent, kind, name))));
  const isTaken = (object: KubernetesObject | undefined): boolean => object !== undefined && !isOurs(object, parent);
  return missing.filter((_, index) => isTaken(found[index])).map(keyOf);
}

export function refOf({ namespace }: Parent, { resource }: ChildKind, name: string): ObjectRef {
  return { resource, namespace, name };
}

export async function getOrNone(
  client: Pick<KubeClient, 'get'>,
  ref: ObjectRef,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(ref);
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}

function liveReplicas(
  parent: Parent,
  { children }: Pick<Observation, 'children'>,
): Readonly<Record<string, { readonly replicas: number }>> {
  const deployments = children.filter(({ kind }) => kind === childKinds.deployment);
  return Object.fromEntries(
    deployments.flatMap(({ object }) => {
      const replicas = valueAt(object, ['spec', 'replicas']);
      const component = object.metadata.name.slice(parent.name.length + 1);
      return typeof replicas === 'number' ? [[component, { replicas }]] : [];
    }),
  );
}
