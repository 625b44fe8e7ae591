import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import type { KubernetesObject } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
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
} from '../client.ts';
import { KubeError, reasonOfStatus } from '../errors.ts';
import { CredentialSource, type KubeconfigSource } from './credentials.ts';
import { LineSplitter } from './lines.ts';

const HEADERS_TIMEOUT_MS = 30_000;
const BODY_TIMEOUT_MS = 60_000;
/** Bookmarks come about once a minute; a watch without a byte for two of them and some slack is dead. */
const WATCH_SILENCE_MS = 150_000;
const MAX_CONNECTIONS = 64;

interface Call {
  readonly method: 'GET' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  readonly bodyTimeoutMs?: number;
}

/** One pooled agent for every call; client-node, left alone, opens a TLS connection per call. */
export class HttpKubeClient implements KubeClient {
  readonly #credentials: CredentialSource;
  #agent: Agent | undefined;
  #agentIdentity = '';

  constructor(source: KubeconfigSource, clock: Clock) {
    this.#credentials = new CredentialSource(source, clock);
  }

  async list(resource: Resource, options: ListOptions, signal: AbortSignal): Promise<ListPage> {
    const page = await this.#json({
      method: 'GET',
      path: collectionPath(resource),
      query: { limit: String(options.limit), ...optional('continue', options.continueToken) },
      signal,
    });
    const continueToken = valueAt(page, ['metadata', 'continue']);
    return {
      items: (valueAt(page, ['items']) ?? []) as readonly KubernetesObject[],
      resourceVersion: String(valueAt(page, ['metadata', 'resourceVersion'])),
      continueToken: typeof continueToken === 'string' && continueToken !== '' ? continueToken : undefined,
    };
  }

  async *watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const body = await this.#send({
      method: 'GET',
      path: collectionPath(resource),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: options.resourceVersion,
        timeoutSeconds: String(options.timeoutSeconds),
      },
      signal,
      bodyTimeoutMs: WATCH_SILENCE_MS,
    });
    const splitter = new LineSplitter();
    try {
      for await (const chunk of body) {
        for (const line of splitter.push(chunk as Buffer)) yield parseEvent(line);
      }
    } catch (error) {
      throw error instanceof KubeError ? error : unavailable('the watch broke', error);
    }
    if (splitter.hasPartialLine) throw unavailable('the watch ended in the middle of an event', undefined);
  }

  async patch(ref: ObjectRef, patch: JsonPatch): Promise<KubernetesObject> {
    const object = await this.#json({
      method: 'PATCH',
      path: objectPath(ref),
      body: patch,
      contentType: 'application/json-patch+json',
    });
    return object as KubernetesObject;
  }

  async delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    const { uid, resourceVersion, propagationPolicy } = options;
    await this.#json({
      method: 'DELETE',
      path: objectPath(ref),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion },
        ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
      },
      contentType: 'application/json',
    });
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #json(call: Call): Promise<unknown> {
    const body = await this.#send(call);
    try {
      return JSON.parse(await readText(body)) as unknown;
    } catch (error) {
      throw unavailable('the answer could not be read', error);
    }
  }

  /** Sends once; a 401 is tried a second time with credentials read again, because tokens rotate. */
  async #send(call: Call): Promise<Readable> {
    let response = await this.#request(call);
    if (response.statusCode === 401) {
      await response.body.dump();
      this.#credentials.expire();
      response = await this.#request(call);
    }
    const reason = reasonOfStatus(response.statusCode, call.method === 'PATCH');
    if (reason === undefined) return response.body;
    const retryAfter = Number(response.headers['retry-after']);
    const details = Number.isFinite(retryAfter) ? { retryAfterMs: retryAfter * 1000 } : {};
    throw new KubeError(reason, await describeFailure(call, response), details);
  }

  async #request(call: Call): Promise<Dispatcher.ResponseData> {
    const credentials = await this.#credentials.get();
    const query = new URLSearchParams(call.query).toString();
    try {
      return await request(`${this.#credentials.server}${call.path}${query === '' ? '' : `?${query}`}`, {
        method: call.method,
        dispatcher: this.#agentFor(credentials.identity, credentials.tls),
        headers: { ...credentials.headers, accept: 'application/json', ...optional('content-type', call.contentType) },
        body: call.body === undefined ? null : JSON.stringify(call.body),
        signal: call.signal ?? null,
        headersTimeout: HEADERS_TIMEOUT_MS,
        bodyTimeout: call.bodyTimeoutMs ?? BODY_TIMEOUT_MS,
      });
    } catch (error) {
      throw unavailable(`${call.method} ${call.path}`, error);
    }
  }

  /** A new agent when the TLS material changed; running watches keep the old one until they end. */
  #agentFor(identity: string, tls: object): Agent {
    if (this.#agent === undefined || identity !== this.#agentIdentity) {
      const old = this.#agent;
      this.#agent = new Agent({ connect: { ...tls, timeout: 10_000 }, connections: MAX_CONNECTIONS, allowH2: false });
      this.#agentIdentity = identity;
      void old?.close();
    }
    return this.#agent;
  }
}

function collectionPath(resource: Resource): string {
  return `/apis/${resource.group}/${resource.version}/${resource.plural}`;
}

function objectPath({ resource, namespace, name }: ObjectRef): string {
  const { group, version, plural } = resource;
  return `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
}

function optional(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

function unavailable(what: string, cause: unknown): KubeError {
  const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new KubeError('Unavailable', `The Kubernetes API server did not answer (${what})${why}`, { cause });
}

async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function describeFailure(call: Call, response: Dispatcher.ResponseData): Promise<string> {
  const text = await readText(response.body).catch(() => '');
  const message = messageOfStatus(text) ?? `HTTP ${response.statusCode}`;
  return `${call.method} ${call.path}: ${message}`;
}

/** The message of a Kubernetes Status; undefined where the body is something else. */
function messageOfStatus(text: string): string | undefined {
  try {
    const message = valueAt(JSON.parse(text), ['message']);
    return typeof message === 'string' ? message.slice(0, 500) : undefined;
  } catch {
    // Proxies and half-started servers answer with plain text; the HTTP status says enough.
    return undefined;
  }
}

function parseEvent(line: string): WatchEvent {
  const event = JSON.parse(line) as { type: string; object: unknown };
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: event.object as KubernetesObject };
    case 'BOOKMARK':
      return { type: 'BOOKMARK', resourceVersion: String(valueAt(event.object, ['metadata', 'resourceVersion'])) };
    default:
      throw errorEvent(event.object);
  }
}

/** An ERROR event carries a Status; 410 means the watch cannot go on from where it was. */
function errorEvent(status: unknown): KubeError {
  const code = valueAt(status, ['code']);
  const message = valueAt(status, ['message']);
  const reason = reasonOfStatus(typeof code === 'number' ? code : 500, false) ?? 'Unavailable';
  const text = isJsonObject(status) && typeof message === 'string' ? message : 'the watch reported an error';
  return new KubeError(reason, `watch: ${text}`);
}
