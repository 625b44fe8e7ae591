import type { KubernetesObject } from '../../src/api/object.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  JsonPatch,
  KubeClient,
  ListOptions,
  ListPage,
  Newest,
  ObjectRef,
  Resource,
  Selection,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../src/kube/client.ts';
import { FakeKubeClient } from './fake-kube-client.ts';

/** Several resources in memory, each a FakeKubeClient of its own, made when it is first named. */
export class FakeApiServer implements KubeClient {
  readonly #resources = new Map<string, FakeKubeClient>();

  of(plural: string): FakeKubeClient {
    const known = this.#resources.get(plural) ?? new FakeKubeClient(this.#resources.size);
    this.#resources.set(plural, known);
    return known;
  }

  /** Installs the CRD of the plural, so that its objects count. */
  install(
    plural: string,
    metadata: { readonly deletionTimestamp?: string; readonly creationTimestamp?: string } = {},
  ): void {
    const name = `${plural}.michelangelo.api`;
    const identity = { name, namespace: '', uid: name, resourceVersion: '1' };
    const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
    this.of('customresourcedefinitions').put({ ...crd, metadata: { ...identity, ...metadata } });
  }

  get(ref: ObjectRef): Promise<KubernetesObject> {
    return this.of(ref.resource.plural).get(ref);
  }

  list(resource: Resource, options: ListOptions): Promise<ListPage> {
    return this.of(resource.plural).list(resource, options);
  }

  newest(resource: Resource, selection: Selection & { readonly name?: string }): Promise<Newest> {
    return this.of(resource.plural).newest(resource, selection);
  }

  watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncIterable<readonly WatchEvent[]> {
    return this.of(resource.plural).watch(resource, options, signal);
  }

  create(resource: Resource, namespace: string, object: object, options?: WriteOptions): Promise<KubernetesObject> {
    return this.of(resource.plural).create(resource, namespace, object, options);
  }

  update(ref: ObjectRef, object: object): Promise<KubernetesObject> {
    return this.of(ref.resource.plural).update(ref, object);
  }

  patch(ref: ObjectRef, patch: JsonPatch): Promise<KubernetesObject> {
    return this.of(ref.resource.plural).patch(ref, patch);
  }

  mergePatch(ref: ObjectRef, patch: object, _options?: WriteOptions): Promise<KubernetesObject> {
    return this.of(ref.resource.plural).mergePatch(ref, patch);
  }

  apply(ref: ObjectRef, object: object, _options: ApplyOptions): Promise<KubernetesObject> {
    return this.of(ref.resource.plural).apply(ref, object);
  }

  delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    return this.of(ref.resource.plural).delete(ref, options);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
