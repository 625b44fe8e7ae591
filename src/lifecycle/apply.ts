// Brings the world to what a plan says. Every act can be done again; none touches what belongs to somebody else, and
// every removal names the very object by its uid.
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { componentChildren, maintenanceChildren } from './children/components.ts';
import { jobOf, tasksConfig, tasksConfigName } from './children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobs } from './children/kinds.ts';
import { COMPONENT_LABEL, childName, MAINTENANCE, type Parent, RUN_ANNOTATION } from './children/names.ts';
import { networkChildren, serviceChildren } from './children/network.ts';
import { isActive } from './facts.ts';
import type { Observation } from './observe.ts';
import { isOurs } from './owner.ts';
import type { World } from './plan.ts';

export interface Applying {
  readonly client: KubeClient;
  readonly parent: Parent;
  readonly world: World;
  readonly seen: Observation;
  readonly retention: 'Delete' | 'Retain' | 'RetainOnFailure';
}

/** Returns the names that were found taken. */
export async function applyWorld(input: Applying): Promise<readonly string[]> {
  await tidyJobs(input);
  const wanted = wantedChildren(input);
  const taken: string[] = [];
  for (const child of wanted) if (!(await applyChild(input, child))) taken.push(`${child.kind.kind}/${child.name}`);
  await removeOthers(input, wanted);
  await startJob(input);
  return taken;
}

/** The one that runs stays; whatever else runs is stopped, its pods first. */
async function tidyJobs(input: Applying): Promise<void> {
  for (const job of input.seen.jobs) {
    if (job.metadata.deletionTimestamp === undefined && isToGo(job, input)) {
      await deleteJob(input.client, input.parent, job);
    }
  }
}

function isToGo(job: KubernetesObject, { parent, world, seen, retention }: Applying): boolean {
  const run = job.metadata.annotations?.[RUN_ANNOTATION] ?? '';
  if (run === world.job?.run) return false;
  const facts = seen.facts.jobs.find((each) => each.run === run);
  if (facts === undefined || isActive(facts)) return true;
  if (world.job !== undefined && job.metadata.name === childName(parent, world.job.step)) return true;
  return retention === 'Delete' || (retention === 'RetainOnFailure' && facts.state === 'succeeded');
}

async function deleteJob(client: KubeClient, parent: Parent, job: KubernetesObject): Promise<void> {
  const ref: ObjectRef = { resource: jobs, namespace: parent.namespace, name: job.metadata.name };
  // The API server's default for Jobs would leave the pod running beside the next one.
  await gone(client.delete(ref, { uid: job.metadata.uid, propagationPolicy: 'Foreground' }));
}

async function startJob({ client, parent, world, seen }: Applying): Promise<void> {
  const { job, serving: spec } = world;
  if (job === undefined) return;
  if (seen.jobs.some(({ metadata }) => metadata.name === childName(parent, job.step))) return;
  if (seen.facts.jobs.some(isActive)) return;
  await applyChild(
    { client, parent, seen },
    {
      kind: childKinds.configMap,
      name: tasksConfigName(parent),
      body: tasksConfig(parent, spec),
    },
  );
  try {
    await client.create(jobs, parent.namespace, jobOf(parent, { ...job, spec }, job.run), {
      fieldManager: 'ingester-tasks',
    });
  } catch (error) {
    // Somebody was faster, or its predecessor is not quite gone; the next pass sees which.
    if (!isKubeError(error, 'Conflict')) throw error;
  }
}

function wantedChildren({ parent, world, seen }: Applying): readonly Child[] {
  const { spec, serving } = world;
  return [
    ...(world.components === 'apply' ? componentChildren(parent, serving, liveReplicas(parent, seen)) : []),
    ...(world.maintenance === 'apply' ? maintenanceChildren(parent, spec) : []),
    ...serviceChildren(parent, spec, world.service),
    ...networkChildren(parent, spec),
  ];
}

function liveReplicas(
  parent: Parent,
  { children }: Observation,
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

/** False where the name belongs to somebody else. */
async function applyChild(
  { client, parent, seen }: Pick<Applying, 'client' | 'parent' | 'seen'>,
  { kind, name, body }: Child,
): Promise<boolean> {
  const ref: ObjectRef = { resource: kind.resource, namespace: parent.namespace, name };
  const known = seen.children.find((child) => child.kind === kind && child.object.metadata.name === name)?.object;
  if (known?.metadata.deletionTimestamp !== undefined) return true;
  const found = known ?? (await getOrNone(client, ref));
  if (found !== undefined && !isOurs(found, parent)) return false;
  const metadata: unknown = valueAt(body, ['metadata']);
  const bound =
    found === undefined || !isJsonObject(metadata)
      ? body
      : { ...body, metadata: { ...metadata, uid: found.metadata.uid } };
  const intent = { ...bound, apiVersion: kind.apiVersion, kind: kind.kind };
  try {
    await client.apply(ref, intent, { fieldManager: kind.manager, force: true });
  } catch (error) {
    if (!kind.optional || !isKubeError(error, 'NotFound')) throw error;
  }
  return true;
}

async function getOrNone(client: KubeClient, ref: ObjectRef): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(ref);
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** What belongs to the resource and is not wanted any more. What is to be kept as it is stays. */
async function removeOthers({ client, parent, world, seen }: Applying, wanted: readonly Child[]): Promise<void> {
  for (const { kind, object } of seen.children) {
    const { name, uid, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || wanted.some((child) => child.kind === kind && child.name === name)) continue;
    if (isKept(kind, object, { parent, world })) continue;
    const ref: ObjectRef = { resource: kind.resource, namespace: parent.namespace, name };
    await gone(client.delete(ref, { uid, propagationPolicy: 'Foreground' }));
  }
}

const WORKLOADS: ReadonlySet<ChildKind> = new Set([
  childKinds.deployment,
  childKinds.autoscaler,
  childKinds.disruptionBudget,
]);

function isKept(
  kind: ChildKind,
  object: KubernetesObject,
  { parent, world }: Pick<Applying, 'parent' | 'world'>,
): boolean {
  if (object.metadata.name === tasksConfigName(parent)) return true;
  if (object.metadata.labels?.[COMPONENT_LABEL] === MAINTENANCE) return world.maintenance === 'keep';
  // Configurations outlive a drain: nobody reads them meanwhile.
  if (kind === childKinds.configMap) return world.components !== 'apply';
  return WORKLOADS.has(kind) && world.components === 'keep';
}

async function gone(deletion: Promise<void>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    // Gone already, or another object by now: both are for the next pass.
    if (!isKubeError(error, 'NotFound') && !isKubeError(error, 'Conflict')) throw error;
  }
}
