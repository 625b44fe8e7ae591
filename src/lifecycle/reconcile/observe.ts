// Reads the observed state from the API server itself. A read that fails ends the reconcile: nothing is concluded from an
// outage.
import { type ComponentName, componentNames } from '../../api/ingester/spec.ts';
import { type StepName, stepNames } from '../../api/ingester/status.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { redact } from '../../base/redact.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { pagesOf } from '../../kube/pages.ts';
import { pods as podResource } from '../../kube/resources.ts';
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
import { deploymentProblem, endOf, isOlderThanGrace, isSilent, waitingProblem, warningsAbout } from './problems.ts';
import { hasEnded, listAt, numberAt, textAt } from './reading.ts';

/** What one reconcile asks the reasons of. */
const MOST_SILENT = 5;

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
  const [allJobs, allPods] = await Promise.all([list(jobResource), list(podResource)]);
  const labelled = kinds.flatMap((kind, index) => (lists[index] ?? []).map((object) => ({ kind, object })));
  const children = labelled.filter(({ object }) => isOurs(object, parent));
  const jobs = allJobs.filter((job) => isOurs(job, parent));
  const foreign = [
    ...labelled
      .filter(({ object }) => !isOurs(object, parent))
      .map(({ kind, object }) => `${kind.kind}/${object.metadata.name}`),
    ...allJobs.filter((job) => !isOurs(job, parent)).map(({ metadata }) => `Job/${metadata.name}`),
  ];
  const pods = await podsOfCluster(client, { all: allPods, jobs, now }, signal);
  const of = (kind: ChildKind, name: string): KubernetesObject | undefined =>
    children.find((child) => child.kind === kind && child.object.metadata.name === name)?.object;
  const components = Object.fromEntries(
    componentNames.map((name) => [
      name,
      observeComponent(parent, name, of(childKinds.deployment, childName(parent, name)), pods),
    ]),
  ) as Readonly<Record<ComponentName, ObservedComponent>>;
  const state: ObservedState = {
    components,
    jobs: [...jobs.map((job) => observeJob(job, pods)), ...strayPods(jobs, allPods, parent)],
    maintenance: observeMaintenance(parent, of(childKinds.deployment, childName(parent, MAINTENANCE)), pods),
    service: observeService(of(childKinds.service, childName(parent, 'query'))),
    foreign,
  };
  return { state, children, jobs };
}

/** Every pod of the resource, and what was said about those of which their status says nothing. */
interface ObservedPods {
  readonly all: readonly KubernetesObject[];
  readonly now: Date;
  /** By the uid of the pod, or of the Job that has none. */
  readonly warnings: ReadonlyMap<string, string>;
}

async function podsOfCluster(
  client: KubeClient,
  { all, jobs, now }: Pick<ObservedPods, 'all' | 'now'> & { readonly jobs: readonly KubernetesObject[] },
  signal: AbortSignal,
): Promise<ObservedPods> {
  const withoutPod = jobs.filter((job) => isOlderThanGrace(job, now) && podsOfJob(job, all).length === 0);
  const silent = [...all.filter((pod) => isSilent(pod, now)), ...withoutPod].slice(0, MOST_SILENT);
  return { all, now, warnings: await warningsAbout(client, silent, signal) };
}

function podsOfJob(job: KubernetesObject, all: readonly KubernetesObject[]): readonly KubernetesObject[] {
  return all.filter((pod) => isControlledBy(pod, 'Job', job.metadata.uid));
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

/** By owner, not by label: a label can be forged, and a pod with a forged one must not hold up a quiesce. */
function podsOf(
  parent: Parent,
  name: ComponentName | typeof MAINTENANCE,
  all: readonly KubernetesObject[],
): readonly KubernetesObject[] {
  const prefix = `${childName(parent, name)}-`;
  const owned = (pod: KubernetesObject): boolean =>
    listAt(pod, 'metadata', 'ownerReferences').some(
      (owner) => textAt(owner, 'kind') === 'ReplicaSet' && textAt(owner, 'name')?.startsWith(prefix) === true,
    );
  return all.filter((pod) => pod.metadata.labels?.[COMPONENT_LABEL] === name && owned(pod) && !hasEnded(pod));
}

function observeComponent(
  parent: Parent,
  name: ComponentName,
  found: KubernetesObject | undefined,
  observed: ObservedPods,
): ObservedComponent {
  const pods = podsOf(parent, name, observed.all);
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
  // Another client may have put a container of its own before it.
  const containers = listAt(found, 'spec', 'template', 'spec', 'containers');
  const own = containers.find((each) => textAt(each, 'name') === name);
  const image = textAt(own, 'image');
  const configChecksum = textAt(found, 'spec', 'template', 'metadata', 'annotations', CONFIG_ANNOTATION);
  const applied = found.metadata.annotations?.[APPLIED_ANNOTATION];
  const problem = problemOf(found, pods, observed);
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

function firstOf<T>(list: readonly T[], text: (one: T) => string | undefined): string | undefined {
  return list.map(text).find((one) => one !== undefined);
}

function isDisrupted(pod: KubernetesObject): boolean {
  return listAt(pod, 'status', 'conditions').some((each) => textAt(each, 'type') === 'DisruptionTarget');
}

function observeJob(job: KubernetesObject, { all, now, warnings }: ObservedPods): ObservedJob {
  const pods = podsOfJob(job, all);
  const alive = pods.filter((pod) => !hasEnded(pod));
  const condition = (type: string): unknown =>
    listAt(job, 'status', 'conditions').find(
      (each) => textAt(each, 'type') === type && textAt(each, 'status') === 'True',
    );
  const failed = condition('Failed');
  const state = condition('Complete') !== undefined ? 'succeeded' : failed !== undefined ? 'failed' : 'active';
  // How a pod ended that was drained says nothing of the task, as long as there is another.
  const byItself = pods.toSorted((left, right) => Number(isDisrupted(left)) - Number(isDisrupted(right)));
  const ended = byItself.map(endOf).find((end) => end !== undefined);
  const late = alive.filter((pod) => isOlderThanGrace(pod, now));
  const said = firstOf([job, ...late], ({ metadata }) => warnings.get(metadata.uid));
  const stuck = firstOf(late, waitingProblem) ?? said;
  const message = [ended?.message, reasonOf(failed)].find((text) => text !== undefined && text !== '');
  return {
    step: stepIn(job),
    run: job.metadata.annotations?.[RUN_ANNOTATION] ?? '',
    state,
    deleting: job.metadata.deletionTimestamp !== undefined,
    pods: alive.length,
    ...(ended?.exitCode === undefined ? {} : { exitCode: ended.exitCode }),
    ...(message === undefined ? {} : { message: redact(message) }),
    ...(stuck === undefined ? {} : { cannotStart: stuck }),
  };
}

function reasonOf(condition: unknown): string | undefined {
  if (condition === undefined) return undefined;
  return `${textAt(condition, 'reason') ?? 'Failed'}: ${textAt(condition, 'message') ?? ''}`;
}

function stepIn(object: KubernetesObject): StepName {
  const label = object.metadata.labels?.[COMPONENT_LABEL];
  return stepNames.find((step) => step === label) ?? 'init';
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

function observeMaintenance(
  parent: Parent,
  found: KubernetesObject | undefined,
  pods: ObservedPods,
): ObservedState['maintenance'] {
  if (found === undefined) return { exists: false, ready: false };
  const deleting = found.metadata.deletionTimestamp !== undefined;
  const problem = problemOf(found, podsOf(parent, MAINTENANCE, pods.all), pods);
  return {
    exists: true,
    ready: !deleting && numberAt(found, 'status', 'availableReplicas') > 0,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** Why the pods of a Deployment do not come up. */
function problemOf(
  deployment: KubernetesObject,
  pods: readonly KubernetesObject[],
  { warnings }: ObservedPods,
): string | undefined {
  return firstOf(pods, (pod) => waitingProblem(pod) ?? warnings.get(pod.metadata.uid)) ?? deploymentProblem(deployment);
}

function observeService(found: KubernetesObject | undefined): ObservedState['service'] {
  if (found === undefined) return 'absent';
  return textAt(found, 'spec', 'selector', COMPONENT_LABEL) === MAINTENANCE ? 'maintenance' : 'query';
}
