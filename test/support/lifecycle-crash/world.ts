// What is around the lifecycle controller, as far as it can tell: a database, the controllers of Kubernetes and a node, all
// of which do one thing after each reconcile, and a user who approves. They hold the controller to the laws of the database.
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { type IngesterStatus, type StepName, stepNames } from '../../../src/api/ingester/status.ts';
import { APPROVE_UPGRADE_ANNOTATION } from '../../../src/api/names.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { KubeClient, ObjectRef, Resource } from '../../../src/kube/client.ts';
import { ifFound } from '../../../src/kube/found.ts';
import { pods as podResource } from '../../../src/kube/resources.ts';
import { childKinds, jobs as jobResource } from '../../../src/lifecycle/children/kinds.ts';
import { COMPONENT_LABEL, RUN_ANNOTATION } from '../../../src/lifecycle/children/names.ts';
import { hasEnded, listAt, numberAt, textAt } from '../../../src/lifecycle/reconcile/reading.ts';
import { ingesters, statusOf } from '../../../src/lifecycle/reconcile/reconciler.ts';
import { contentOf } from './killable.ts';

export const NAME = 'one';
/** Comes before our own managers by name, and so also in the list of those that wrote in the same second. */
const HANDS = { fieldManager: 'hands' };
const STATUS = { ...HANDS, subresource: 'status' } as const;
const COMPONENTS = ['sync', 'query', 'audit'].map((name) => `${NAME}-${name}`);

/** Tasks are fenced by the number of their run. */
class SimDatabase {
  gate: 'open' | 'closed' = 'open';
  /** The version that the schema suits. */
  schema: string | undefined;
  /** Every run that began, in order: its step, and whether it found itself done or replaced already. */
  readonly log: string[] = [];
  snapshots = 0;
  readonly #complete = new Set<number>();
  #newest = 0;

  /** Whether this run does its work. */
  admits(step: StepName, run: number): 'works' | 'done' | 'replaced' {
    const verdict = this.#complete.has(run) ? 'done' : run < this.#newest ? 'replaced' : 'works';
    this.log.push(verdict === 'works' ? step : `${step}, ${verdict}`);
    this.#newest = Math.max(this.#newest, run);
    return verdict;
  }

  complete(run: number): void {
    this.#complete.add(run);
  }
}

interface Ended {
  readonly exitCode: number;
  readonly message: string;
}

export class World {
  readonly database = new SimDatabase();
  readonly client: KubeClient;
  readonly namespace: string;
  /** Laws that were broken. */
  readonly broken = new Set<string>();
  failing: StepName | undefined;
  /** Deployments and Jobs that were seen going; they are gone a move later. */
  #going = new Set<string>();
  #before: IngesterStatus = {};

  constructor(client: KubeClient, namespace: string) {
    this.client = client;
    this.namespace = namespace;
  }

  ref(resource: Resource, name: string): ObjectRef {
    return { resource, namespace: this.namespace, name };
  }

  ingester(): Promise<KubernetesObject> {
    return this.client.get(this.ref(ingesters, NAME));
  }

  async ask(spec: IngesterSpec): Promise<void> {
    const known = await ifFound(this.ingester());
    const apiVersion = `${ingesters.group}/${ingesters.version}`;
    const metadata = { name: NAME, generation: 1 };
    if (known === undefined) {
      await this.client.create(ingesters, this.namespace, { apiVersion, kind: 'Ingester', metadata, spec });
      return;
    }
    const generation = (known.metadata.generation ?? 0) + 1;
    await this.client.update(this.ref(ingesters, NAME), {
      ...known,
      metadata: { ...known.metadata, generation },
      spec,
    });
  }

  /** What everything looks like; the same as before where nothing has changed. */
  async move(deleted: readonly ObjectRef[]): Promise<string> {
    const [jobs, pods, deployments] = await Promise.all([
      this.list(jobResource),
      this.list(podResource),
      this.list(childKinds.deployment.resource),
    ]);
    const object = await this.ingester();
    this.#holdStatus(statusOf(object));
    this.#holdComponents(deployments);
    const seen = JSON.stringify([...jobs, ...pods, ...deployments, object].map(contentOf));
    for (const job of jobs) await this.#moveJob(job, pods);
    for (const pod of pods) await this.#removeStray(pod, jobs);
    for (const deployment of deployments) await this.#moveDeployment(deployment, pods);
    for (const ref of deleted) await this.#collect(ref);
    await this.#decide(object);
    return seen;
  }

  async list(resource: Resource): Promise<readonly KubernetesObject[]> {
    const selection = { namespace: this.namespace, limit: 500, labelSelector: `michelangelo/ingester=${NAME}` };
    const page = await this.client.list(resource, selection, new AbortController().signal);
    return page.items.map((item) => item.parse());
  }

  /** What is wrong once everything has come to rest. */
  async problemsAtRest(): Promise<readonly string[]> {
    const status = statusOf(await this.ingester());
    const deployments = await this.list(childKinds.deployment.resource);
    const service = await ifFound(this.client.get(this.ref(childKinds.service.resource, `${NAME}-query`)));
    const asked = Object.keys(status.target?.spec.components ?? {}).map((name) => `${NAME}-${name}`);
    const there = deployments.filter((each) => numberAt(each, 'status', 'readyReplicas') > 0).map(nameOf);
    const selected = service === undefined ? 'query' : textAt(service, 'spec', 'selector', COMPONENT_LABEL);
    return [
      ...(this.database.gate === 'open' ? [] : ['the gate stays closed']),
      ...(status.lifecycle?.gateHeld === true ? ['the status still holds the gate'] : []),
      ...(asked.toSorted().join() === there.toSorted().join()
        ? []
        : [`asked for ${asked.join()}, runs ${there.join()}`]),
      ...(selected === 'query' ? [] : [`the Service leads to ${selected}`]),
      ...((await this.list(podResource)).some((pod) => isTask(pod) && !hasEnded(pod)) ? ['a task still runs'] : []),
    ];
  }

  #break(law: string): void {
    this.broken.add(law);
  }

  /** No status is lost. */
  #holdStatus(now: IngesterStatus): void {
    const [was, is] = [countsOf(this.#before), countsOf(now)];
    for (const [what, count] of Object.entries(was)) if ((is[what] ?? 0) < count) this.#break(`${what} went down`);
    const { migratedVersion } = this.#before;
    if (migratedVersion !== undefined && now.migratedVersion === undefined)
      this.#break('the migrated version was lost');
    this.#before = now;
  }

  /** No component runs against a schema of another version. */
  #holdComponents(deployments: readonly KubernetesObject[]): void {
    const { schema } = this.database;
    for (const each of deployments.filter(isComponent)) {
      const version = imageOf(each);
      if (version !== schema) this.#break(`${nameOf(each)} runs ${version} on the schema of ${schema ?? 'no version'}`);
    }
  }

  async #moveJob(job: KubernetesObject, pods: readonly KubernetesObject[]): Promise<void> {
    const name = nameOf(job);
    const own = pods.find((pod) => isOwnedBy(pod, job));
    if (job.metadata.deletionTimestamp !== undefined) {
      if (!this.#isGone(job)) return;
      if (own !== undefined) await this.#end(podResource, nameOf(own));
      await this.#release(this.ref(jobResource, name));
      return;
    }
    if (listAt(job, 'status', 'conditions').length > 0) return;
    if (own === undefined) {
      if (pods.some((pod) => isTask(pod) && !hasEnded(pod))) this.#break('two tasks run at a time');
      await this.#startPod(job, 'Job');
      return;
    }
    await this.#endJob(job, own, await this.#work(job));
  }

  /** With the uid of the Deployment where a ReplicaSet would be in between. */
  async #startPod({ metadata: of }: KubernetesObject, kind: 'Job' | 'ReplicaSet', count = 0): Promise<void> {
    const name = `${of.name}-${of.uid.slice(-6)}`;
    const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1';
    const owner = { apiVersion, kind, name: kind === 'Job' ? of.name : name, uid: of.uid, controller: true };
    const metadata = { name: `${name}-${count}`, labels: of.labels ?? {}, ownerReferences: [owner] };
    const spec = { containers: [{ name: 'task', image: 'any' }] };
    await this.client.create(podResource, this.namespace, { apiVersion: 'v1', kind: 'Pod', metadata, spec }, HANDS);
  }

  async #endJob(job: KubernetesObject, pod: KubernetesObject, { exitCode, message }: Ended): Promise<void> {
    const [phase, type] = exitCode === 0 ? ['Succeeded', 'Complete'] : ['Failed', 'Failed'];
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const terminated = { exitCode, message, reason };
    const container = { name: 'task', image: 'any', imageID: '', ready: false, restartCount: 0, state: { terminated } };
    await this.client.mergePatch(
      this.ref(podResource, nameOf(pod)),
      { status: { phase, containerStatuses: [container] } },
      STATUS,
    );
    const time = new Date().toISOString();
    const types = exitCode === 0 ? ['SuccessCriteriaMet', type] : ['FailureTarget', type];
    const conditions = types.map((each) => ({
      type: each,
      status: 'True',
      lastTransitionTime: time,
      lastProbeTime: time,
    }));
    const result = exitCode === 0 ? { succeeded: 1, completionTime: time } : { failed: 1 };
    const status = { startTime: time, conditions, ...result };
    await this.client.mergePatch(this.ref(jobResource, nameOf(job)), { status }, STATUS);
  }

  /** What the task does to the database. */
  async #work(job: KubernetesObject): Promise<Ended> {
    const { database } = this;
    const step = stepIn(job);
    const run = Number(job.metadata.annotations?.[RUN_ANNOTATION]?.split('-').at(-1));
    const verdict = database.admits(step, run);
    if (verdict === 'done') return { exitCode: 0, message: '{}' };
    if (verdict === 'replaced') return { exitCode: 1, message: 'TASK_SUPERSEDED' };
    if (step === this.failing) return { exitCode: 2, message: 'it cannot' };
    await this.#holdTask(step);
    database.complete(run);
    if (step === 'quiesce') database.gate = 'closed';
    if (step === 'release') database.gate = 'open';
    if (step === 'restore') database.schema = 'the snapshot';
    if (step === 'migrate') database.schema = imageOf(job);
    if (step === 'migrate') return { exitCode: 0, message: '{"applied":["1"],"adopted":[]}' };
    if (step !== 'snapshot') return { exitCode: 0, message: '{}' };
    database.snapshots += 1;
    return { exitCode: 0, message: `{"snapshot":"s-${database.snapshots}"}` };
  }

  /** Nothing writes while the database is changed, and no credentials end that are in use. */
  async #holdTask(step: StepName): Promise<void> {
    const components = (await this.list(childKinds.deployment.resource)).filter((each) =>
      COMPONENTS.includes(nameOf(each)),
    );
    const { schema, gate } = this.database;
    if (['snapshot', 'restore', 'migrate'].includes(step)) {
      if (components.length > 0) this.#break(`${step} ran beside ${components.map(nameOf).join()}`);
      if (schema !== undefined && gate === 'open') this.#break(`${step} ran with the gate open`);
    }
    if (step !== 'finish') return;
    const { credentials } = statusOf(await this.ingester()).lifecycle ?? {};
    const old = `"${credentials?.previous ?? ''}"`;
    if (JSON.stringify(components).includes(old)) this.#break('credentials ended that a component has');
  }

  async #moveDeployment(deployment: KubernetesObject, pods: readonly KubernetesObject[]): Promise<void> {
    const { generation = 0, deletionTimestamp } = deployment.metadata;
    const ref = this.ref(childKinds.deployment.resource, nameOf(deployment));
    const own = pods.filter((pod) => isOwnedBy(pod, deployment));
    if (deletionTimestamp !== undefined) {
      if (!this.#isGone(deployment)) return;
      for (const pod of own) await this.#end(podResource, nameOf(pod));
      await this.#release(ref);
      return;
    }
    const replicas = numberAt(deployment, 'spec', 'replicas');
    for (let count = own.length; count < replicas; count += 1) await this.#startPod(deployment, 'ReplicaSet', count);
    for (const pod of own.slice(replicas)) await this.#end(podResource, nameOf(pod));
    const seen = numberAt(deployment, 'status', 'observedGeneration') === generation;
    if (seen && numberAt(deployment, 'status', 'readyReplicas') === replicas) return;
    const counts = { replicas, readyReplicas: replicas, updatedReplicas: replicas, availableReplicas: replicas };
    await this.client.mergePatch(ref, { status: { observedGeneration: generation, ...counts } }, STATUS);
  }

  /** Everything else goes at once. */
  async #collect(ref: ObjectRef): Promise<void> {
    if (ref.resource === jobResource || ref.resource === childKinds.deployment.resource) return;
    const found = await ifFound(this.client.get(ref));
    if (found?.metadata.deletionTimestamp !== undefined) await this.#release(ref);
  }

  async #removeStray(pod: KubernetesObject, jobs: readonly KubernetesObject[]): Promise<void> {
    if (isTask(pod) && !jobs.some((job) => isOwnedBy(pod, job))) await this.#end(podResource, nameOf(pod));
  }

  async #end(resource: Resource, name: string): Promise<void> {
    await ifFound(this.client.delete(this.ref(resource, name), { gracePeriodSeconds: 0 }));
  }

  async #release(ref: ObjectRef): Promise<void> {
    await ifFound(this.client.mergePatch(ref, { metadata: { finalizers: null } }));
  }

  #isGone({ metadata: { uid } }: KubernetesObject): boolean {
    const known = this.#going.has(uid);
    this.#going.add(uid);
    return known;
  }

  async #decide(object: KubernetesObject): Promise<void> {
    const { upgrade } = statusOf(object).lifecycle ?? {};
    const asked = upgrade?.decision === undefined ? upgrade?.token : undefined;
    if (asked === undefined || object.metadata.annotations?.[APPROVE_UPGRADE_ANNOTATION] === asked) return;
    const annotations = { [APPROVE_UPGRADE_ANNOTATION]: asked };
    await this.client.mergePatch(this.ref(ingesters, NAME), { metadata: { annotations } }, HANDS);
  }
}

/** What a status has of each never becomes less. */
function countsOf({ lifecycle, transitions = [] }: IngesterStatus): Readonly<Record<string, number>> {
  const { runs = 0, snapshots = [], restores = [] } = lifecycle ?? {};
  return { runs, snapshots: snapshots.length, restores: restores.length, transitions: transitions.length };
}

function nameOf({ metadata }: KubernetesObject): string {
  return metadata.name;
}

function isComponent({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp === undefined && COMPONENTS.includes(metadata.name);
}

function isTask(pod: KubernetesObject): boolean {
  return listAt(pod, 'metadata', 'ownerReferences').some((owner) => textAt(owner, 'kind') === 'Job');
}

function isOwnedBy(pod: KubernetesObject, { metadata }: KubernetesObject): boolean {
  return listAt(pod, 'metadata', 'ownerReferences').some((owner) => textAt(owner, 'uid') === metadata.uid);
}

/** The tag of the image that its pods run. */
function imageOf(object: KubernetesObject): string {
  const [container] = listAt(object, 'spec', 'template', 'spec', 'containers');
  return textAt(container, 'image')?.split(':').at(-1) ?? '';
}

function stepIn({ metadata }: KubernetesObject): StepName {
  return stepNames.find((step) => step === metadata.labels?.[COMPONENT_LABEL]) ?? 'init';
}
