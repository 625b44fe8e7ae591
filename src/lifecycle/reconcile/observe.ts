// Reads the observed state from the API server itself. A read that fails ends the reconcile: nothing is concluded from an
// outage.
import { type ComponentName, componentNames } from '../../api/ingester/spec.ts';
import { type StepName, stepNames } from '../../api/ingester/status.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { valueAt } from '../../base/json.ts';
import { redact } from '../../base/redact.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { pagesOf } from '../../kube/pages.ts';
import { pods } from '../../kube/resources.ts';
import { type ChildKind, childKinds, jobs as jobResource } from '../children/kinds.ts';
import {
  APPLIED_ANNOTATION,
  COMPONENT_LABEL,
  CONFIG_ANNOTATION,
  childName,
  isControlledBy,
  isOurs,
  MAINTENANCE,
  type Parent,
  RUN_ANNOTATION,
} from '../children/names.ts';
import type { ObservedComponent, ObservedJob, ObservedState } from '../plan/observed.ts';
import { cannotStartGraceMs } from '../plan/settings.ts';

export interface Observation {
  readonly state: ObservedState;
  /** Objects that the resource owns; those with its label and another owner are `foreign`. */
  readonly children: readonly { readonly kind: ChildKind; readonly object: KubernetesObject }[];
  readonly jobs: readonly KubernetesObject[];
}

export async function observe(
  client: KubeClient,
  parent: Parent,
  now: Date,
  signal: AbortSignal,
): Promise<Observation> {
  const list = (resource: Resource): Promise<readonly KubernetesObject[]> => listAll(client, resource, parent, signal);
  const kinds = Object.values(childKinds);
  const lists = await Promise.all(
    kinds.map(async ({ resource, optional }) => (optional ? ((await ifFound(list(resource))) ?? []) : list(resource))),
  );
  const [allJobs, allPods] = await Promise.all([list(jobResource), list(pods)]);
  const labelled = kinds.flatMap((kind, index) => (lists[index] ?? []).map((object) => ({ kind, object })));
  const children = labelled.filter(({ object }) => isOurs(object, parent));
  const jobs = allJobs.filter((job) => isOurs(job, parent));
  const foreign = [
    ...labelled
      .filter(({ object }) => !isOurs(object, parent))
      .map(({ kind, object }) => `${kind.kind}/${object.metadata.name}`),
    ...allJobs.filter((job) => !isOurs(job, parent)).map(({ metadata }) => `Job/${metadata.name}`),
  ];
  const of = (kind: ChildKind, name: string): KubernetesObject | undefined =>
    children.find((child) => child.kind === kind && child.object.metadata.name === name)?.object;
  const components = Object.fromEntries(
    componentNames.map((name) => [
      name,
      observeComponent(parent, name, of(childKinds.deployment, childName(parent, name)), allPods),
    ]),
  ) as Readonly<Record<ComponentName, ObservedComponent>>;
  const state: ObservedState = {
    components,
    jobs: [...jobs.map((job) => observeJob(job, allPods, now)), ...strayPods(jobs, allPods, parent)],
    maintenance: observeMaintenance(of(childKinds.deployment, childName(parent, MAINTENANCE))),
    service: observeService(of(childKinds.service, childName(parent, 'query'))),
    foreign,
  };
  return { state, children, jobs };
}

async function listAll(
  client: KubeClient,
  resource: Resource,
  { namespace, name }: Parent,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const items: KubernetesObject[] = [];
  const selection = { namespace, labelSelector: `${INGESTER_LABEL}=${name}` };
  for await (const page of pagesOf(client, resource, { ...selection, consistency: 'each-page' }, signal))
    items.push(...page.items.map((item) => item.parse()));
  return items;
}

const numberAt = (object: unknown, ...path: readonly string[]): number => {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : 0;
};
const textAt = (object: unknown, ...path: readonly string[]): string | undefined => {
  const value = valueAt(object, path);
  return typeof value === 'string' ? value : undefined;
};
const listAt = (object: unknown, ...path: readonly string[]): readonly unknown[] => {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value : [];
};

/** By owner, not by label: a label can be forged, and a pod with a forged one must not hold up a quiesce. */
function podsOf(parent: Parent, name: ComponentName, all: readonly KubernetesObject[]): readonly KubernetesObject[] {
  const prefix = `${childName(parent, name)}-`;
  const owned = (pod: KubernetesObject): boolean =>
    listAt(pod, 'metadata', 'ownerReferences').some(
      (owner) => textAt(owner, 'kind') === 'ReplicaSet' && textAt(owner, 'name')?.startsWith(prefix) === true,
    );
  return all.filter((pod) => pod.metadata.labels?.[COMPONENT_LABEL] === name && owned(pod) && !hasEnded(pod));
}

function hasEnded(pod: KubernetesObject): boolean {
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase') ?? '');
}

function observeComponent(
  parent: Parent,
  name: ComponentName,
  found: KubernetesObject | undefined,
  allPods: readonly KubernetesObject[],
): ObservedComponent {
  const pods = podsOf(parent, name, allPods);
  if (found === undefined) {
    return {
      exists: false,
      deleting: false,
      pods: pods.length,
      desired: 0,
      ready: 0,
      updated: 0,
      available: 0,
      generationObserved: true,
    };
  }
  const image = textAt(listAt(found, 'spec', 'template', 'spec', 'containers')[0], 'image');
  const configChecksum = textAt(found, 'spec', 'template', 'metadata', 'annotations', CONFIG_ANNOTATION);
  const applied = found.metadata.annotations?.[APPLIED_ANNOTATION];
  const problem = pods.map((pod) => waitingProblem(pod)).find((text) => text !== undefined) ?? deadlineProblem(found);
  return {
    exists: true,
    deleting: found.metadata.deletionTimestamp !== undefined,
    pods: pods.length,
    desired: numberAt(found, 'spec', 'replicas'),
    ready: numberAt(found, 'status', 'readyReplicas'),
    updated: numberAt(found, 'status', 'updatedReplicas'),
    available: numberAt(found, 'status', 'availableReplicas'),
    generationObserved: numberAt(found, 'status', 'observedGeneration') >= (found.metadata.generation ?? 0),
    ...(image === undefined ? {} : { image }),
    ...(configChecksum === undefined ? {} : { configChecksum }),
    ...(applied === undefined ? {} : { applied }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function deadlineProblem(deployment: KubernetesObject): string | undefined {
  const exceeded = listAt(deployment, 'status', 'conditions').some(
    (condition) => textAt(condition, 'reason') === 'ProgressDeadlineExceeded',
  );
  return exceeded ? 'its pods did not become ready in time' : undefined;
}

const STUCK: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'InvalidImageName',
  'ErrImagePull',
  'ImagePullBackOff',
  'CrashLoopBackOff',
]);

function waitingProblem(pod: KubernetesObject): string | undefined {
  const states = [...listAt(pod, 'status', 'initContainerStatuses'), ...listAt(pod, 'status', 'containerStatuses')];
  for (const state of states) {
    const reason = textAt(state, 'state', 'waiting', 'reason');
    if (reason === undefined || !STUCK.has(reason)) continue;
    const message =
      textAt(state, 'lastState', 'terminated', 'message') ?? textAt(state, 'state', 'waiting', 'message') ?? '';
    return redact(`${pod.metadata.name}: ${reason} ${message}`.trim()).slice(0, 256);
  }
  const scheduled = listAt(pod, 'status', 'conditions').find(
    (condition) => textAt(condition, 'type') === 'PodScheduled',
  );
  if (textAt(scheduled, 'reason') !== 'Unschedulable') return undefined;
  return `${pod.metadata.name}: Unschedulable ${textAt(scheduled, 'message') ?? ''}`.trim().slice(0, 256);
}

function observeJob(job: KubernetesObject, allPods: readonly KubernetesObject[], now: Date): ObservedJob {
  const pods = allPods.filter((pod) => isControlledBy(pod, 'Job', job.metadata.uid));
  const alive = pods.filter((pod) => !hasEnded(pod));
  const condition = (type: string): unknown =>
    listAt(job, 'status', 'conditions').find(
      (each) => textAt(each, 'type') === type && textAt(each, 'status') === 'True',
    );
  const failed = condition('Failed');
  const state = condition('Complete') !== undefined ? 'succeeded' : failed !== undefined ? 'failed' : 'active';
  const ended = pods.map(endOf).find((end) => end !== undefined);
  const stuck = alive
    .filter((pod) => isOlderThan(pod, cannotStartGraceMs, now))
    .map(waitingProblem)
    .find((text) => text !== undefined);
  const reason =
    failed === undefined ? undefined : `${textAt(failed, 'reason') ?? 'Failed'}: ${textAt(failed, 'message') ?? ''}`;
  const message = [ended?.message, reason].find((text) => text !== undefined && text !== '');
  return {
    step: stepIn(job),
    run: job.metadata.annotations?.[RUN_ANNOTATION] ?? '',
    state,
    deleting: job.metadata.deletionTimestamp !== undefined,
    pods: alive.length,
    ...(ended === undefined ? {} : { exitCode: ended.exitCode }),
    ...(message === undefined ? {} : { message: redact(message) }),
    ...(stuck === undefined ? {} : { cannotStart: stuck }),
  };
}

function stepIn(object: KubernetesObject): StepName {
  const label = object.metadata.labels?.[COMPONENT_LABEL];
  return stepNames.find((step) => step === label) ?? 'init';
}

function isOlderThan({ metadata }: KubernetesObject, ms: number, now: Date): boolean {
  return metadata.creationTimestamp !== undefined && now.getTime() - Date.parse(metadata.creationTimestamp) >= ms;
}

function endOf(pod: KubernetesObject): { readonly exitCode: number; readonly message: string } | undefined {
  for (const state of listAt(pod, 'status', 'containerStatuses')) {
    const ended = valueAt(state, ['state', 'terminated']);
    if (ended === undefined || ended === null) continue;
    const message = textAt(ended, 'message') ?? textAt(ended, 'reason') ?? '';
    return { exitCode: numberAt(ended, 'exitCode'), message: message.trim() };
  }
  return undefined;
}

/** Pods of Jobs that are gone: deleting a Job can leave its pods behind, and they still write. */
function strayPods(
  known: readonly KubernetesObject[],
  all: readonly KubernetesObject[],
  parent: Parent,
): readonly ObservedJob[] {
  const uids = new Set(known.map(({ metadata }) => metadata.uid));
  const prefixes = stepNames.map((step) => childName(parent, step));
  return all
    .filter((pod) => !hasEnded(pod))
    .filter((pod) =>
      listAt(pod, 'metadata', 'ownerReferences').some(
        (owner) =>
          textAt(owner, 'kind') === 'Job' &&
          prefixes.includes(textAt(owner, 'name') ?? '') &&
          !uids.has(textAt(owner, 'uid') ?? ''),
      ),
    )
    .map((pod) => ({
      step: stepIn(pod),
      run: `of a Job that is gone, pod ${pod.metadata.name}`,
      state: 'active',
      deleting: true,
      pods: 1,
    }));
}

function observeMaintenance(found: KubernetesObject | undefined): ObservedState['maintenance'] {
  if (found === undefined) return { exists: false, ready: false };
  const deleting = found.metadata.deletionTimestamp !== undefined;
  return { exists: true, ready: !deleting && numberAt(found, 'status', 'availableReplicas') > 0 };
}

function observeService(found: KubernetesObject | undefined): ObservedState['service'] {
  if (found === undefined) return 'absent';
  return textAt(found, 'spec', 'selector', COMPONENT_LABEL) === MAINTENANCE ? 'maintenance' : 'query';
}
