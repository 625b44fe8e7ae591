// Brings the cluster to the desired state. Every call can be repeated; none touches an object of another owner, and every
// deletion has the uid as a precondition.
import type { KubernetesObject } from '../../api/object.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { jobOf, tasksConfigName } from '../children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobKind, jobs, keyOf } from '../children/kinds.ts';
import { COMPONENT_LABEL, childName, MAINTENANCE, type Parent, RUN_ANNOTATION } from '../children/names.ts';
import type { DesiredState } from '../plan/desired-state.ts';
import { isActive } from '../plan/observed.ts';
import { applyChild } from './apply-child.ts';
import { desiredChildren, refOf, tasksConfigChild } from './desired-children.ts';
import type { Observation } from './observe.ts';

export interface ApplyInput {
  readonly client: KubeClient;
  readonly parent: Parent;
  readonly desired: DesiredState;
  readonly observation: Observation;
  /** Names that objects of other owners have, as `Kind/name`. */
  readonly taken: readonly string[];
  readonly retention: 'Delete' | 'Retain' | 'RetainOnFailure';
}

export async function applyDesiredState(input: ApplyInput): Promise<void> {
  await tidyJobs(input);
  await removeOthers(input, await applyChildren(input));
  await startJob(input);
}

/** The desired Job stays; every other that runs is stopped, its pods first. */
async function tidyJobs(input: ApplyInput): Promise<void> {
  for (const job of input.observation.jobs) {
    if (job.metadata.deletionTimestamp === undefined && isObsolete(job, input)) {
      await deleteJob(input.client, input.parent, job);
    }
  }
}

function isObsolete(job: KubernetesObject, { parent, desired, observation, retention }: ApplyInput): boolean {
  const run = job.metadata.annotations?.[RUN_ANNOTATION] ?? '';
  if (run === desired.job?.run) return false;
  const observed = observation.state.jobs.find((each) => each.run === run);
  if (observed === undefined || isActive(observed)) return true;
  if (desired.job !== undefined && job.metadata.name === childName(parent, desired.job.step)) return true;
  return retention === 'Delete' || (retention === 'RetainOnFailure' && observed.state === 'succeeded');
}

async function deleteJob(client: KubeClient, parent: Parent, { metadata }: KubernetesObject): Promise<void> {
  // The API server's default for Jobs would leave the pod running beside the next one.
  const options = { uid: metadata.uid, propagationPolicy: 'Foreground' } as const;
  await gone(client.delete(refOf(parent, jobKind, metadata.name), options));
}

async function startJob(input: ApplyInput): Promise<void> {
  const { client, parent, desired, observation, taken } = input;
  const { job, serving: spec } = desired;
  if (job === undefined) return;
  const name = childName(parent, job.step);
  if (observation.jobs.some(({ metadata }) => metadata.name === name) || observation.state.jobs.some(isActive)) return;
  const config = tasksConfigChild(parent, desired);
  // A pod mounts by name: it is not started where it would mount an object of another owner.
  if (taken.includes(keyOf({ kind: jobKind, name })) || taken.includes(keyOf(config))) return;
  if (!(await applyChild({ client, parent, known: knownOf(observation, config) }, config))) return;
  try {
    await client.create(jobs, parent.namespace, jobOf(parent, { ...job, spec }, job.run), {
      fieldManager: jobKind.manager,
    });
  } catch (error) {
    // Another client was faster, or the Job before is still being deleted; the next reconcile sees which.
    if (!isKubeError(error, 'Conflict')) throw error;
  }
}

/** Returns the children that were applied. One whose name is taken is not created, nor what needs it. */
async function applyChildren(input: ApplyInput): Promise<readonly Child[]> {
  const { client, parent, observation } = input;
  const blocked = new Set(input.taken);
  const applied: Child[] = [];
  for (const child of desiredChildren(input)) {
    const isFree = [keyOf(child), ...(child.needs ?? [])].every((key) => !blocked.has(key));
    if (isFree && (await applyChild({ client, parent, known: knownOf(observation, child) }, child)))
      applied.push(child);
    else blocked.add(keyOf(child));
  }
  return applied;
}

function knownOf({ children }: Observation, { kind, name }: Child): KubernetesObject | undefined {
  return children.find((child) => child.kind === kind && child.object.metadata.name === name)?.object;
}

/** Deletes what belongs to the resource and is not desired any more, except what is to be kept as it is. */
async function removeOthers(
  { client, parent, desired, observation }: ApplyInput,
  applied: readonly Child[],
): Promise<void> {
  for (const { kind, object } of observation.children) {
    const { name, uid, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || applied.some((child) => child.kind === kind && child.name === name))
      continue;
    if (isKept(kind, object, { parent, desired })) continue;
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
  { parent, desired }: Pick<ApplyInput, 'parent' | 'desired'>,
): boolean {
  if (object.metadata.name === tasksConfigName(parent)) return true;
  if (object.metadata.labels?.[COMPONENT_LABEL] === MAINTENANCE) return desired.maintenance === 'keep';
  // Configurations outlive a quiesce: no pod reads them meanwhile.
  if (kind === childKinds.configMap) return desired.components !== 'apply';
  return WORKLOADS.has(kind) && desired.components === 'keep';
}

async function gone(deletion: Promise<void>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    // Gone already, or another object by now: the next reconcile handles both.
    if (!isKubeError(error, 'NotFound') && !isKubeError(error, 'Conflict')) throw error;
  }
}
