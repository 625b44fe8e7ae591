// The child objects of the desired state, and which of their names are taken.
import type { KubernetesObject } from '../../api/object.ts';
import { valueAt } from '../../base/json.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { componentChildren, maintenanceChildren } from '../children/components.ts';
import { tasksConfig, tasksConfigName } from '../children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobKind, keyOf } from '../children/kinds.ts';
import { childName, isOurs, type Parent } from '../children/names.ts';
import { networkChildren, serviceChildren } from '../children/network.ts';
import type { DesiredState } from '../plan/desired-state.ts';
import type { Observation } from './observe.ts';

export interface DesiredChildrenInput {
  readonly parent: Parent;
  readonly desired: DesiredState;
  readonly observation: Pick<Observation, 'children' | 'jobs'>;
}

/** In the order of their dependencies. */
export function desiredChildren({ parent, desired, observation }: DesiredChildrenInput): readonly Child[] {
  const { spec, serving } = desired;
  return [
    ...(desired.components === 'apply' ? componentChildren(parent, serving, liveReplicas(parent, observation)) : []),
    ...(desired.maintenance === 'apply' ? maintenanceChildren(parent, spec) : []),
    ...serviceChildren(parent, spec, desired.service),
    ...networkChildren(parent, spec),
  ];
}

export function tasksConfigChild(parent: Parent, { serving }: DesiredState): Child {
  return { kind: childKinds.configMap, name: tasksConfigName(parent), body: tasksConfig(parent, serving) };
}

/**
 * Names of desired objects that objects of other owners have, as `Kind/name`. Only what is not observed as ours is read:
 * once everything is created, nothing.
 */
export async function takenNames(
  client: Pick<KubeClient, 'get'>,
  input: DesiredChildrenInput,
): Promise<readonly string[]> {
  const { parent, desired, observation } = input;
  const children: readonly Pick<Child, 'kind' | 'name'>[] = desiredChildren(input);
  const { job } = desired;
  const ofJob = job && [tasksConfigChild(parent, desired), { kind: jobKind, name: childName(parent, job.step) }];
  const ours = new Set([
    ...observation.children.map(({ kind, object }) => keyOf({ kind, name: object.metadata.name })),
    ...observation.jobs.map(({ metadata }) => keyOf({ kind: jobKind, name: metadata.name })),
  ]);
  const missing = [...children, ...(ofJob ?? [])].filter((child) => !ours.has(keyOf(child)));
  const found = await Promise.all(missing.map(({ kind, name }) => ifFound(client.get(refOf(parent, kind, name)))));
  const isTaken = (object: KubernetesObject | undefined): boolean => object !== undefined && !isOurs(object, parent);
  return missing.filter((_, index) => isTaken(found[index])).map(keyOf);
}

export function refOf({ namespace }: Parent, { resource }: ChildKind, name: string): ObjectRef {
  return { resource, namespace, name };
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
