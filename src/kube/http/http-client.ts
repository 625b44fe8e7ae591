import type { Readable } from 'node:stream';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { KubernetesObject } from '../../api/object.ts';
import { valueAt } from '../../base/json.ts';
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
} from '../client.ts';
import { PageTooLargeError } from '../errors.ts';
import type { WatchedObject } from '../watched-object.ts';
import { splitList } from './json-scan.ts';
import { readReceived, readWhole } from './received-object.ts';
import { explained, isNamedBy, testsHold } from './refusal.ts';
import { type Call, type Pace, readBody, type Transport, unavailable } from './transport.ts';
import { watchStream } from './watch-stream.ts';

/** Bookmarks come about once a minute; a watch without a byte for two of them and some slack is dead. */
const WATCH_SILENCE_MS = 150_000;
/** Longest stretch of parsing before the client yields to the event loop. */
const SLICE_MS = 10;

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/**
 * The API server over HTTP. Objects are what the server sent, without `metadata.managedFields`: fields this program
 * does not know survive, in their order, and integers beyond 2^53 keep their digits (see lossless-json).
 */
export class HttpKubeClient implements KubeClient {
  readonly #transport: Transport;
  readonly #limits: { readonly pace?: Pace };

  constructor(transport: Transport, limits: { readonly pace?: Pace } = {}) {
    this.#transport = transport;
    this.#limits = limits;
  }

  get(ref: ObjectRef): Promise<KubernetesObject> {
    return this.#object({ method: 'GET', path: objectPath(ref) });
  }

  async list(resource: Resource, options: ListOptions, signal: AbortSignal): Promise<ListPage> {
    const startedMs = performance.now();
    const body = await this.#transport.send({
      method: 'GET',
      path: collectionPath(resource, options.namespace),
      query: {
        limit: String(options.limit),
        ...optional('continue', options.continueToken),
        ...optional('shardSelector', options.shardSelector),
        ...selectionQuery(options),
      },
      signal,
      ...(options.metadataOnly === true ? { accept: METADATA_LIST } : {}),
    });
    const bytes = await this.#read('GET', body, options.mostBytes);
    return { ...(await parsePage(bytes)), tookMs: performance.now() - startedMs };
  }

  async newest(
    resource: Resource,
    { name, ...selection }: Selection & { readonly name?: string },
    signal: AbortSignal,
  ): Promise<Newest> {
    const named = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
    const options = { ...selection, ...named, limit: 1, metadataOnly: true };
    const { resourceVersion, items } = await this.list(resource, options, signal);
    return { resourceVersion, object: name === undefined ? undefined : items[0]?.identity };
  }

  watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncIterable<readonly WatchEvent[]> {
    return watchStream(() => this.#openWatch(resource, options, signal));
  }

  #openWatch(resource: Resource, options: WatchOptions, signal: AbortSignal): Promise<Readable> {
    return this.#transport.send({
      method: 'GET',
      path: collectionPath(resource, options.namespace),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: options.resourceVersion,
        timeoutSeconds: String(options.timeoutSeconds),
        ...optional('shardSelector', options.shardSelector),
        ...selectionQuery(options),
      },
      signal,
      bodyTimeoutMs: options.silenceMs ?? WATCH_SILENCE_MS,
    });
  }

  create(resource: Resource, namespace: string, object: object, options: WriteOptions = {}): Promise<KubernetesObject> {
    const path = collectionPath(resource, namespace);
    return this.#object({ method: 'POST', path, query: writeQuery(options), body: object, ...signalOf(options) });
  }

  update(ref: ObjectRef, object: object, options: WriteOptions = {}): Promise<KubernetesObject> {
    return this.#write('PUT', ref, { body: object, options, contentType: 'application/json' });
  }

  patch(ref: ObjectRef, patch: JsonPatch, options: WriteOptions = {}): Promise<KubernetesObject> {
    const write = { body: patch, options, contentType: 'application/json-patch+json' };
    const holds = (object: KubernetesObject): boolean => testsHold(patch, object);
    return explained(() => this.#write('PATCH', ref, write), { read: () => this.get(ref), holds });
  }

  mergePatch(ref: ObjectRef, patch: object, options: WriteOptions = {}): Promise<KubernetesObject> {
    return this.#write('PATCH', ref, { body: patch, options, contentType: 'application/merge-patch+json' });
  }

  apply(ref: ObjectRef, object: object, options: ApplyOptions): Promise<KubernetesObject> {
    // JSON is YAML, and this content type is the one every supported server knows.
    const contentType = 'application/apply-patch+yaml';
    return this.#write('PATCH', ref, { body: object, options, contentType, query: { force: String(options.force) } });
  }

  async delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    const call = {
      method: 'DELETE',
      path: objectPath(ref),
      body: deleteBody(options),
    } as const;
    const holds = (object: KubernetesObject): boolean => isNamedBy(options, object);
    await explained(() => this.#send(call), { read: () => this.get(ref), holds });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #write(
    method: 'PUT' | 'PATCH',
    ref: ObjectRef,
    write: {
      readonly body: object;
      readonly options: WriteOptions;
      readonly contentType: string;
      readonly query?: Readonly<Record<string, string>>;
    },
  ): Promise<KubernetesObject> {
    return this.#object({
      method,
      path: objectPath(ref, write.options.subresource),
      query: { ...writeQuery(write.options), ...write.query },
      body: write.body,
      contentType: write.contentType,
      ...signalOf(write.options),
    });
  }

  async #object(call: Call): Promise<KubernetesObject> {
    const body = await this.#send(call);
    return readable(() => readWhole(body));
  }

  /** The whole answer: read to its end, so that its connection can be used again. */
  async #send(call: Call): Promise<Buffer> {
    return this.#read(call.method, await this.#transport.send(call));
  }

  async #read(method: Call['method'], body: Readable, mostBytes?: number): Promise<Buffer> {
    const limits = mostBytes === undefined ? this.#limits : { ...this.#limits, mostBytes };
    try {
      const whole = await readBody(body, limits);
      this.#transport.received?.(method, whole.length);
      return whole;
    } catch (error) {
      if (error instanceof PageTooLargeError) throw error;
      throw unavailable('the answer broke off', error);
    }
  }
}

/** Goes item by item and yields to the event loop in between: a page of large objects takes longer than a heartbeat. */
async function parsePage(body: Buffer): Promise<ListPage> {
  const parts = splitList(body);
  if (parts === undefined) throw unavailable('the answer is not a list', undefined);
  const items: WatchedObject[] = [];
  let sliceStart = performance.now();
  for (const item of parts.items) {
    // A copy, so that one object that is kept does not keep the page.
    items.push(readable(() => readReceived(Buffer.from(item))));
    if (performance.now() - sliceStart < SLICE_MS) continue;
    await yieldToEventLoop();
    sliceStart = performance.now();
  }
  const envelope = readable(() => JSON.parse(parts.envelope) as unknown);
  const continueToken = valueAt(envelope, ['metadata', 'continue']);
  return {
    items,
    resourceVersion: String(valueAt(envelope, ['metadata', 'resourceVersion'])),
    continueToken: typeof continueToken === 'string' && continueToken !== '' ? continueToken : undefined,
    bytes: body.length,
  };
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unavailable('the answer could not be read', error);
  }
}

function writeQuery({ fieldManager, dryRun, strict }: WriteOptions): Readonly<Record<string, string>> {
  return {
    ...optional('fieldManager', fieldManager),
    ...optional('dryRun', dryRun === true ? 'All' : undefined),
    ...optional('fieldValidation', strict === true ? 'Strict' : undefined),
  };
}

function signalOf({ signal }: WriteOptions): Pick<Call, 'signal'> {
  return signal === undefined ? {} : { signal };
}

function deleteBody({ uid, resourceVersion, propagationPolicy, gracePeriodSeconds }: DeleteOptions): object {
  const preconditions = { ...optional('uid', uid), ...optional('resourceVersion', resourceVersion) };
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...optional('propagationPolicy', propagationPolicy),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
}

function groupPath({ group, version }: Resource): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** `namespace` empty or undefined: cluster-scoped, or all namespaces. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const scope = namespace === undefined || namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${groupPath(resource)}${scope}/${resource.plural}`;
}

export function objectPath(ref: ObjectRef, subresource?: 'status'): string {
  const path = `${collectionPath(ref.resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): Readonly<Record<string, string>> {
  return { ...optional('labelSelector', labelSelector), ...optional('fieldSelector', fieldSelector) };
}

/** A query parameter that is left out where it has no value. */
export function optional(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}
