import { type KubernetesObject, type ObjectMeta, objectKey } from '../../src/api/object.ts';
import type {
  DeleteOptions,
  JsonPatch,
  KubeClient,
  ListOptions,
  ListPage,
  ObjectRef,
  Resource,
  WatchEvent,
  WatchOptions,
} from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { applyJsonPatch } from './apply-json-patch.ts';

interface LoggedEvent {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
}

/** The API server of one resource in memory: versions, finalizers, preconditions and watches. */
export class FakeKubeClient implements KubeClient {
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #events: LoggedEvent[] = [];
  readonly #wakers = new Set<() => void>();
  #version = 0;
  #oldestWatchable = 0;
  /** Names of the calls, in order. */
  readonly calls: string[] = [];
  /** Errors to throw from the next calls of that name, instead of answering. */
  readonly failures: { readonly call: string; readonly error: KubeError }[] = [];
  installed = true;

  /** Creates or replaces an object as somebody else would. */
  put(object: KubernetesObject): KubernetesObject {
    const type = this.#objects.has(objectKey(object)) ? 'MODIFIED' : 'ADDED';
    return this.#store(object, type);
  }

  get(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  /** What `kubectl delete` does. */
  remove(key: string): void {
    const object = this.#objects.get(key);
    if (object !== undefined) this.#startDeleting(object);
  }

  /** Forgets history, as compaction does: older watches expire. */
  compact(): void {
    this.#oldestWatchable = this.#version;
  }

  /** Cuts every watch as a lost connection does. */
  cut(): void {
    this.#wake('cut');
  }

  async list(resource: Resource, options: ListOptions): Promise<ListPage> {
    this.#enter('list');
    if (!this.installed) throw new KubeError('NotFound', `no resource ${resource.plural}`);
    const offset = Number(options.continueToken ?? 0);
    const all = [...this.#objects.values()];
    const end = offset + options.limit;
    return Promise.resolve({
      items: all.slice(offset, end),
      resourceVersion: String(this.#version),
      continueToken: end < all.length ? String(end) : undefined,
    });
  }

  async *watch(_resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    this.#enter('watch');
    let from = Number(options.resourceVersion);
    if (from < this.#oldestWatchable) throw new KubeError('Expired', 'too old resource version');
    while (!signal.aborted) {
      for (const event of this.#events.filter(({ version }) => version > from)) {
        from = event.version;
        yield { type: event.type, object: event.object };
      }
      await this.#nextChange(signal);
      const failure = this.#takeFailure('stream');
      if (failure !== undefined) throw failure;
    }
  }

  patch(ref: ObjectRef, patch: JsonPatch): Promise<KubernetesObject> {
    return this.#call('patch', ref, (object) => {
      const patched = this.#applied(object, patch);
      const finalizers = patched.metadata.finalizers ?? [];
      if (patched.metadata.deletionTimestamp === undefined || finalizers.length > 0) {
        return this.#store(patched, 'MODIFIED');
      }
      return this.#erase(patched);
    });
  }

  delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    return this.#call(`delete:${options.propagationPolicy ?? 'default'}`, ref, (object) => {
      const { uid, resourceVersion } = object.metadata;
      if (uid !== options.uid || resourceVersion !== options.resourceVersion) {
        throw new KubeError('Conflict', 'the precondition does not hold');
      }
      this.#startDeleting(object);
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #applied(object: KubernetesObject, patch: JsonPatch): KubernetesObject {
    try {
      return applyJsonPatch(object, patch);
    } catch (error) {
      throw new KubeError('Conflict', 'the patch does not apply', { cause: error });
    }
  }

  #call<T>(name: string, ref: ObjectRef, work: (object: KubernetesObject) => T): Promise<T> {
    return Promise.resolve().then(() => {
      this.#enter(name);
      const object = this.#objects.get(`${ref.namespace}/${ref.name}`);
      if (object === undefined) throw new KubeError('NotFound', 'no such object');
      return work(object);
    });
  }

  #enter(call: string): void {
    this.calls.push(call);
    const failure = this.#takeFailure(call);
    if (failure !== undefined) throw failure;
  }

  #takeFailure(call: string): KubeError | undefined {
    const index = this.failures.findIndex((failure) => failure.call === call);
    return index === -1 ? undefined : this.failures.splice(index, 1)[0]?.error;
  }

  #startDeleting(object: KubernetesObject): void {
    if (object.metadata.deletionTimestamp !== undefined) return;
    if ((object.metadata.finalizers ?? []).length === 0) this.#erase(object);
    else this.#store(withMetadata(object, { deletionTimestamp: '2026-01-03T00:00:00Z' }), 'MODIFIED');
  }

  #erase(object: KubernetesObject): KubernetesObject {
    this.#objects.delete(objectKey(object));
    return this.#record(object, 'DELETED');
  }

  #store(object: KubernetesObject, type: 'ADDED' | 'MODIFIED'): KubernetesObject {
    const stored = this.#record(object, type);
    this.#objects.set(objectKey(stored), stored);
    return stored;
  }

  #record(object: KubernetesObject, type: LoggedEvent['type']): KubernetesObject {
    this.#version += 1;
    const versioned = withMetadata(object, { resourceVersion: String(this.#version) });
    this.#events.push({ version: this.#version, type, object: versioned });
    this.#wake('event');
    return versioned;
  }

  #wake(why: 'event' | 'cut'): void {
    if (why === 'cut') this.failures.push({ call: 'stream', error: new KubeError('Unavailable', 'connection lost') });
    for (const wake of [...this.#wakers]) wake();
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakers.delete(wake);
        resolve();
      };
      this.#wakers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

function withMetadata(object: KubernetesObject, changes: Partial<ObjectMeta>): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, ...changes } };
}
