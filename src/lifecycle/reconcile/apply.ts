// Brings the cluster to the desired state. Every call can be repeated; none touches an object of another owner, and every
// deletion has the uid as a precondition.
import type { KubernetesObject } from '../../api/object.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { jobOf, tasksConfigName } from '../children/jobs.ts';
import { type Child, type ChildKind, childKinds, jobKind, jobs, keyOf } from '../children/kinds.ts';
import { COMPONENT_LABEL, childName, isOurs, MAINTENANCE, type Parent, RUN_ANNOTATION } from '../children/names.ts';
import type { DesiredState } from '../plan/desired-state.ts';
import { isActive } from '../plan/observed.ts';
import { desiredChildren, refOf, tasksConfigChild } from './desired-children.ts';
import type { Observation } from './observe.ts';
import { changedByOthers, withManifestHash } from './put-back.ts';

export interface ApplyInput {
  readonly client: KubeClient;
  readonly parent: Parent;
  readonly desired: DesiredState;
  readonly observation: Observation;
  /** Names that objects of other owners have, as `Kind/name`. */
  readonly taken: readonly string[];
  readonly retention: 'Delete' | 'Retain' | 'RetainOnFailure';
}

/** Returns what other clients had changed of its objects and is as desired again, as `Kind/name: fields`. */
export async function applyDesiredState(input: ApplyInput): Promise<readonly string[]> {
  await tidyJobs(input);
  const applied = await applyChildren(input);
  await removeOthers(
    input,
    applied.map(({ child }) => child),
  );
  await startJob(input);
  return applied.flatMap(({ child, putBack }) =>
    putBack.length === 0 ? [] : [`${keyOf(child)}: ${putBack.slice(0, MOST_FIELDS).join(', ')}`],
  );
}

const MOST_FIELDS = 5;

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
  if ((await applyChild({ client, parent, known: knownOf(observation, config) }, config)) === 'taken') return;
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
async function applyChildren(input: ApplyInput): Promise<readonly AppliedChild[]> {
  const { client, parent, observation } = input;
  const blocked = new Set(input.taken);
  const applied: AppliedChild[] = [];
  for (const child of desiredChildren(input)) {
    const isFree = [keyOf(child), ...(child.needs ?? [])].every((key) => !blocked.has(key));
    const putBack = isFree
      ? await applyChild({ client, parent, known: knownOf(observation, child) }, child)
      : ('taken' as const);
    if (putBack === 'taken') blocked.add(keyOf(child));
    else applied.push({ child, putBack });
  }
  return applied;
}

interface AppliedChild {
  readonly child: Child;
  /** Paths of fields that another client had changed. */
  readonly putBack: readonly string[];
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

// Creates or updates one object. An object of another owner is never changed, also where it appears at this moment: an
// object is created by a call that fails where there is one, and updated with its uid as a precondition.

/** On an object that was created and whose fields are not owned yet as applied fields are. */
const CREATED_ANNOTATION = 'michelangelo/created';

interface ApplyChildInput {
  readonly client: KubeClient;
  readonly parent: Parent;
  /** The object as it was observed in this reconcile; undefined unless it is ours. */
  readonly known: KubernetesObject | undefined;
}

/** The fields that another client had changed; `taken` where an object of another owner has the name. */
async function applyChild(
  { client, parent, known }: ApplyChildInput,
  child: Child,
): Promise<AppliedChild['putBack'] | 'taken'> {
  if (known?.metadata.deletionTimestamp !== undefined) return [];
  const ref = refOf(parent, child.kind, child.name);
  try {
    const found = known ?? (await createdOrFound(client, ref, child));
    if (found === undefined) return [];
    if (!isOurs(found, parent)) return 'taken';
    if (found.metadata.annotations?.[CREATED_ANNOTATION] !== undefined) await ownAsApplied(client, ref, child);
    const applied = await client.apply(ref, manifestOf(child, { uid: found.metadata.uid }), {
      fieldManager: child.kind.manager,
      force: true,
    });
    return changedByOthers(child, found, applied);
  } catch (error) {
    if (!child.kind.optional || !isKubeError(error, 'NotFound')) throw error;
  }
  return [];
}

/** The existing object; undefined where it was just created. */
async function createdOrFound(client: KubeClient, ref: ObjectRef, child: Child): Promise<KubernetesObject | undefined> {
  const found = await ifFound(client.get(ref));
  if (found !== undefined) return found;
  const { manager: fieldManager } = child.kind;
  try {
    await client.create(ref.resource, ref.namespace, createdManifestOf(child), { fieldManager });
  } catch (error) {
    if (!isKubeError(error, 'Conflict')) throw error;
    // Another client was faster; the owner shows whose it is. If it is gone again, the next reconcile creates it.
    return client.get(ref);
  }
  await ownAsApplied(client, ref, child);
  return undefined;
}

/** Others that may have written within the second of the creation. */
const MOST_MANAGERS = 4;

/**
 * Fields of an object that was created belong to its creator for good; those that were applied go when they are not
 * applied any more. Nothing but an apply without precondition creates applied fields, so they are made such.
 */
async function ownAsApplied(client: KubeClient, ref: ObjectRef, { kind: { manager } }: Child): Promise<void> {
  // Ours is the first entry unless another manager wrote in the same second and comes before it by name.
  for (let index = 0; index < MOST_MANAGERS; index += 1) {
    const entry = `/metadata/managedFields/${index}`;
    try {
      await client.patch(
        ref,
        [
          { op: 'test', path: `${entry}/manager`, value: manager },
          { op: 'test', path: `${entry}/operation`, value: 'Update' },
          { op: 'replace', path: `${entry}/operation`, value: 'Apply' },
          { op: 'remove', path: `/metadata/annotations/${CREATED_ANNOTATION.replace('/', '~1')}` },
        ],
        { fieldManager: manager },
      );
      return;
    } catch (error) {
      // The entry is not ours. Where none is, the object is as it should be all the same.
      if (!isKubeError(error, 'Conflict')) throw error;
    }
  }
}

function manifestOf(child: Child, metadata: object): object {
  const { apiVersion, kind } = child.kind;
  const body = withManifestHash(child);
  return { ...body, apiVersion, kind, metadata: { ...body.metadata, ...metadata } };
}

function createdManifestOf(child: Child): object {
  const { annotations } = withManifestHash(child).metadata;
  return manifestOf(child, { annotations: { ...annotations, [CREATED_ANNOTATION]: 'true' } });
}
