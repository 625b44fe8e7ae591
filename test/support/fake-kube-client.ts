import { type KubernetesObject, type ObjectMeta, objectKey } from '../../src/api/object.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import type {
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
import { KubeError } from '../../src/kube/errors.ts';
import { asWatched } from '../../src/kube/watched-object.ts';
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
  /** What lists show, by their version. */
  readonly #listed = new Map<string, readonly KubernetesObject[]>();
  #version = 0;
  #oldestWatchable = 0;
  /** Names of the calls, in order. */
  readonly calls: string[] = [];
  /** Errors to throw from the next calls of that name, instead of answering. */
  readonly failures: { readonly call: string; readonly error: KubeError }[] = [];
  installed = true;
  /** Whether the account of the client may do what it asks about. */
  permitted = true;
  /** Told at the moment an object leaves. */
  onErase: (object: KubernetesObject) => void = () => undefined;

  readonly #uids: string;

  /** The number is another one for each resource of a server, so that no uid is used twice. */
  constructor(number = 0) {
    this.#uids = `${String(number).padStart(8, '0')}-0000-4000-8000`;
  }

  /** Creates or replaces an object as another client would. */
  put(object: KubernetesObject): KubernetesObject {
    const type = this.#objects.has(objectKey(object)) ? 'MODIFIED' : 'ADDED';
    return this.#store(object, type);
  }

  object(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  /** What `kubectl delete` does. */
  remove(key: string): void {
    const object = this.#objects.get(key);
    if (object !== undefined) this.#startDeleting(object);
  }

  /** Every change so far. */
  history(): readonly LoggedEvent[] {
    return this.#events;
  }

  /** Forgets history, as compaction does: older watches expire. */
  compact(): void {
    this.#oldestWatchable = this.#version;
  }

  /** Cuts every watch as a lost connection does. */
  cut(): void {
    this.#wake('cut');
  }

  /** Every page shows the state at the first one. */
  async list(resource: Resource, options: ListOptions): Promise<ListPage> {
    this.#enter(options.continueToken === undefined ? 'list' : 'next-page');
    if (!this.installed) throw new KubeError('NotFound', `no resource ${resource.plural}`);
    const [version = '', offset = 0] = options.continueToken?.split(' ') ?? [String(this.#version)];
    if (options.continueToken === undefined) this.#listed.set(version, [...this.#objects.values()]);
    const all = this.#listed.get(version) ?? [];
    const end = Number(offset) + options.limit;
    return Promise.resolve({
      items: all.slice(Number(offset), end).map((object) => asWatched(object)),
      resourceVersion: version,
      continueToken: end < all.length ? `${version} ${end}` : undefined,
    });
  }

  newest(resource: Resource, { namespace = '', name }: Selection & { readonly name?: string }): Promise<Newest> {
    return Promise.resolve().then(() => {
      this.#enter('version');
      if (!this.installed) throw new KubeError('NotFound', `no resource ${resource.plural}`);
      return { resourceVersion: String(this.#version), object: this.#objects.get(`${namespace}/${name}`)?.metadata };
    });
  }

  async *watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncGenerator<readonly WatchEvent[]> {
    this.#enter('watch');
    if (!this.installed) throw new KubeError('NotFound', `no resource ${resource.plural}`);
    let from = Number(options.resourceVersion);
    if (from < this.#oldestWatchable) throw new KubeError('Expired', 'too old resource version');
    yield [];
    while (!signal.aborted) {
      // What comes while an event is handed out is looked for before the next change is waited for.
      const next = this.#events.find(({ version }) => version > from);
      if (next !== undefined) {
        from = next.version;
        yield [{ type: next.type, object: asWatched(next.object) }];
        continue;
      }
      await this.#nextChange(signal);
      const failure = this.#takeFailure('stream');
      if (failure !== undefined) throw failure;
    }
  }

  get(ref: ObjectRef): Promise<KubernetesObject> {
    return this.#call('get', ref, (object) => object);
  }

  create({ plural }: Resource, namespace: string, object: object, options?: WriteOptions): Promise<KubernetesObject> {
    return Promise.resolve().then(() => {
      this.#enter('create');
      if (plural === 'selfsubjectaccessreviews') return { ...object, status: { allowed: this.permitted } } as never;
      const sent = object as KubernetesObject;
      const uid = `${this.#uids}-${String(this.#version + 1).padStart(12, '0')}`;
      const created = withMetadata(sent, {
        namespace,
        uid,
        creationTimestamp: '2026-01-02T03:04:05Z',
        ...ownedBy(options),
      });
      if (this.#objects.has(objectKey(created))) throw new KubeError('Conflict', 'already exists');
      return options?.dryRun === true ? created : this.#store(created, 'ADDED');
    });
  }

  update(ref: ObjectRef, object: object): Promise<KubernetesObject> {
    return this.#call('update', ref, (current) => {
      const { metadata } = object as { metadata: Partial<ObjectMeta> };
      const expected = metadata.resourceVersion ?? current.metadata.resourceVersion;
      if (expected !== current.metadata.resourceVersion)
        throw new KubeError('Conflict', 'the object has been modified');
      return this.#settle({ ...current, ...object, metadata: { ...current.metadata, ...metadata } });
    });
  }

  mergePatch(ref: ObjectRef, patch: object): Promise<KubernetesObject> {
    return this.#call('mergePatch', ref, (object) => {
      const version = (patch as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
      if (version !== undefined && version !== object.metadata.resourceVersion)
        throw new KubeError('Conflict', 'modified');
      return this.#settle(merged(object as JsonObject, patch as JsonObject) as KubernetesObject);
    });
  }

  /** Without ownership of fields: a merge, and a create where there is nothing. */
  apply(ref: ObjectRef, object: object): Promise<KubernetesObject> {
    if (!this.#objects.has(`${ref.namespace}/${ref.name}`)) return this.create(ref.resource, ref.namespace, object);
    return this.mergePatch(ref, object);
  }

  patch(ref: ObjectRef, patch: JsonPatch): Promise<KubernetesObject> {
    return this.#call('patch', ref, (object) => this.#settle(this.#applied(object, patch)));
  }

  delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    return this.#call(`delete:${options.propagationPolicy ?? 'default'}`, ref, (object) => {
      const { uid, resourceVersion } = object.metadata;
      if ((options.uid ?? uid) !== uid || (options.resourceVersion ?? resourceVersion) !== resourceVersion) {
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

  /** A deleting object without finalizers is gone; any other is stored. While it is deleted, none can be added. */
  #settle(object: KubernetesObject): KubernetesObject {
    const before = this.#objects.get(objectKey(object))?.metadata;
    const added = (object.metadata.finalizers ?? []).filter((each) => !(before?.finalizers ?? []).includes(each));
    if (before?.deletionTimestamp !== undefined && added.length > 0)
      throw new KubeError('Conflict', 'no new finalizers can be added if the object is being deleted');
    const held = object.metadata.deletionTimestamp === undefined || (object.metadata.finalizers ?? []).length > 0;
    return held ? this.#store(object, 'MODIFIED') : this.#erase(object);
  }

  #startDeleting(object: KubernetesObject): void {
    if ((object.metadata.finalizers ?? []).length === 0) this.#erase(object);
    else if (object.metadata.deletionTimestamp === undefined) {
      const generation = (object.metadata.generation ?? 0) + 1;
      this.#store(withMetadata(object, { deletionTimestamp: '2026-01-03T00:00:00Z', generation }), 'MODIFIED');
    }
  }

  #erase(object: KubernetesObject): KubernetesObject {
    this.onErase(object);
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

/** As far as the first owner of fields is of interest. */
function ownedBy({ fieldManager }: WriteOptions = {}): object {
  return fieldManager === undefined ? {} : { managedFields: [{ manager: fieldManager, operation: 'Update' }] };
}

function withMetadata(object: KubernetesObject, changes: Partial<ObjectMeta>): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, ...changes } };
}

/** JSON merge patch. */
function merged(target: JsonObject, patch: JsonObject): JsonObject {
  const changed = Object.entries(patch).map(([key, value]) => {
    const current = target[key];
    return [key, isJsonObject(value) ? merged(isJsonObject(current) ? current : {}, value) : value] as const;
  });
  return Object.fromEntries(
    Object.entries({ ...target, ...Object.fromEntries(changed) }).filter(([, value]) => value !== null),
  );
}
