// Brings the world to what a plan says. Every act can be done again; none touches what belongs to somebody else, and
// every removal names the very object by its uid.
import type { KubernetesObject } from '../api/object.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { applyChild } from './apply-child.ts';
import { jobOf, tasksConfigName } from './children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobKind, jobs, keyOf } from './children/kinds.ts';
import { COMPONENT_LABEL, childName, MAINTENANCE, type Parent, RUN_ANNOTATION } from './children/names.ts';
import { isActive } from './facts.ts';
import type { Observation } from './observe.ts';
import type { World } from './plan.ts';
import { refOf, tasksConfigChild, wantedChildren } from './wanted.ts';

export interface Applying {
  readonly client: KubeClient;
  readonly parent: Parent;
  readonly world: World;
  readonly seen: Observation;
  /** Names that others have, as `Kind/name`. */
  readonly taken: readonly string[];
  readonly retention: 'Delete' | 'Retain' | 'RetainOnFailure';
}

export async function applyWorld(input: Applying): Promise<void> {
  await tidyJobs(input);
  await removeOthers(input, await applyChildren(input));
  await startJob(input);
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

async function deleteJob(client: KubeClient, parent: Parent, { metadata }: KubernetesObject): Promise<void> {
  // The API server's default for Jobs would leave the pod running beside the next one.
  const options = { uid: metadata.uid, propagationPolicy: 'Foreground' } as const;
  await gone(client.delete(refOf(parent, jobKind, metadata.name), options));
}

async function startJob(input: Applying): Promise<void> {
  const { client, parent, world, seen, taken } = input;
  const { job, serving: spec } = world;
  if (job === undefined) return;
  const name = childName(parent, job.step);
  if (seen.jobs.some(({ metadata }) => metadata.name === name) || seen.facts.jobs.some(isActive)) return;
  const config = tasksConfigChild(parent, world);
  // A pod mounts by name: it is not started where that would give it what somebody else wrote.
  if (taken.includes(keyOf({ kind: jobKind, name })) || taken.includes(keyOf(config))) return;
  if (!(await applyChild({ client, parent, known: knownOf(seen, config) }, config))) return;
  try {
    await client.create(jobs, parent.namespace, jobOf(parent, { ...job, spec }, job.run), {
      fieldManager: jobKind.manager,
    });
  } catch (error) {
    // Somebody was faster, or its predecessor is not quite gone; the next pass sees whose it is.
    if (!isKubeError(error, 'Conflict')) throw error;
  }
}

/** Returns what is there now as it is wanted. A child whose name is taken is not made, nor what needs it. */
async function applyChildren(input: Applying): Promise<readonly Child[]> {
  const { client, parent, seen } = input;
  const blocked = new Set(input.taken);
  const applied: Child[] = [];
  for (const child of wantedChildren(input)) {
    const isFree = [keyOf(child), ...(child.needs ?? [])].every((key) => !blocked.has(key));
    if (isFree && (await applyChild({ client, parent, known: knownOf(seen, child) }, child))) applied.push(child);
    else blocked.add(keyOf(child));
  }
  return applied;
}

function knownOf({ children }: Observation, { kind, name }: Child): KubernetesObject | undefined {
  return children.find((child) => child.kind === kind && child.object.metadata.name === name)?.object;
}

/** What belongs to the resource and is not wanted any more. What is to be kept as it is stays. */
async function removeOthers({ client, parent, world, seen }: Applying, wanted: readonly Child[]): Promise<void> {
  for (const { kind, object } of seen.children) {
    const { name, uid, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || wanted.some((child) => child.kind === kind && child.name === name)) continue;
    if (isKept(kind, object, { parent, world })) continue;
    await gone(client.delete(refOf(parent, kind, name), { uid, propagationPolicy: 'Foreground' }));
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
