import { join } from 'node:path';
import { after, before } from 'node:test';
import { INGESTER_CRD } from '../../hack/generate/crds/ingester.ts';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { Condition, IngesterStatus } from '../../src/api/ingester/status.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import type { KubeClient, ObjectRef } from '../../src/kube/client.ts';
import { ifFound } from '../../src/kube/found.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import type { ChildKind } from '../../src/lifecycle/children/kinds.ts';
import { noLifecycle } from '../../src/lifecycle/plan/target.ts';
import { ingesters, LifecycleReconciler, statusOf } from '../../src/lifecycle/reconcile/reconciler.ts';
import { ApiServer } from './api-server.ts';
import { eventually } from './eventually.ts';

const crd = join(import.meta.dirname, `../../crds/ingester/${INGESTER_CRD}.yaml`);
const signal = new AbortController().signal;

/** Passes of the lifecycle over one Ingester resource on a real API server; nothing runs the pods that it asks for. */
export class LifecycleHarness {
  readonly namespace: string;
  readonly transport: PooledTransport;
  readonly client: KubeClient;
  /** For calls of others. */
  readonly api: ApiServer;

  constructor(namespace: string, transport: PooledTransport, api: ApiServer) {
    this.namespace = namespace;
    this.api = api;
    this.transport = transport;
    this.client = new HttpKubeClient(transport);
  }

  /** As it is once no earlier resource can have left its gate closed. */
  async ask(spec: Partial<IngesterSpec>): Promise<void> {
    const whole = { version: '1.0.0', database: { credentialsSecret: 'ingester-mysql' }, ...spec };
    const [apiVersion, metadata] = [`${ingesters.group}/${ingesters.version}`, { name: 'one' }];
    const object = { apiVersion, kind: 'Ingester', metadata, spec: whole };
    const known = await ifFound(this.client.get(this.#ref));
    if (known !== undefined) {
      await this.client.update(this.#ref, { ...known, spec: whole });
      return;
    }
    const made = await this.client.create(ingesters, this.namespace, object);
    await this.client.update(this.#ref, { ...made, status: { lifecycle: noLifecycle } }, { subresource: 'status' });
  }

  /** With another client where calls are to go wrong. */
  async reconcile(count: number, client: KubeClient = this.client): Promise<void> {
    const reconciler = new LifecycleReconciler({
      client,
      clock: systemClock,
      events: { record: () => undefined },
      metrics: { forResource: () => ({ read: () => undefined, gone: () => undefined }), ended: () => undefined },
      record: { migratedVersion: () => Promise.resolve(undefined), writeVersion: () => Promise.resolve() },
      canary: { seen: () => undefined, gone: () => undefined },
      repository: () => Promise.resolve('michelangelo-ingester'),
    });
    for (let done = 0; done < count; done += 1) await reconciler.reconcile(`${this.namespace}/one`, { signal });
  }

  async status(): Promise<IngesterStatus> {
    return statusOf(await this.client.get(this.#ref));
  }

  async condition(type: string): Promise<Condition> {
    const found = (await this.status()).conditions?.find((each) => each.type === type);
    if (found === undefined) throw new CodedError('TEST_CONDITION', `there is no condition ${type}`);
    return found;
  }

  /** Undefined where there is none. */
  find(kind: ChildKind, name: string): Promise<KubernetesObject | undefined> {
    return ifFound(this.client.get({ resource: kind.resource, namespace: this.namespace, name }));
  }

  remove(kind: ChildKind, name: string): Promise<void> {
    return this.client.delete({ resource: kind.resource, namespace: this.namespace, name }, {});
  }

  create(kind: ChildKind, name: string, body: object): Promise<KubernetesObject> {
    const { apiVersion, resource } = kind;
    return this.client.create(resource, this.namespace, { apiVersion, kind: kind.kind, metadata: { name }, ...body });
  }

  get #ref(): ObjectRef {
    return { resource: ingesters, namespace: this.namespace, name: 'one' };
  }
}

/** Each call gives a namespace of its own. */
export function useLifecycleHarness(): () => Promise<LifecycleHarness> {
  const used: LifecycleHarness[] = [];
  let controlPlane: ControlPlane | undefined;
  before(async () => {
    const started = await startControlPlane({ progress: () => undefined, minimal: true });
    controlPlane = started;
    await started.kubectlRun(['apply', '-f', crd]);
    // It is an error while there are no conditions at all.
    await eventually(() =>
      started.kubectlRun(['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']),
    );
  });
  after(async () => {
    for (const { client, api } of used) {
      await client.close();
      api.close();
    }
    await controlPlane?.stop();
  });
  return async () => {
    if (controlPlane === undefined) throw new CodedError('TEST_SETUP', 'the cluster is there only while tests run');
    const { kubeconfig } = controlPlane;
    const namespace = `n-${used.length}`;
    const transport = new PooledTransport({ kubeconfig, context: '', clock: systemClock });
    const harness = new LifecycleHarness(namespace, transport, new ApiServer(kubeconfig));
    used.push(harness);
    await controlPlane.kubectlRun(['create', 'namespace', namespace]);
    return harness;
  };
}
