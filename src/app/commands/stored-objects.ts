// The query API as a user's program calls it: through the API server, with the rights of the kubeconfig.
import type { Readable } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import type { Configuration } from '../../config/schema.ts';
import { isKubeError, KubeError, reasonOfStatus } from '../../kube/errors.ts';
import type { Impersonated } from '../../kube/http/login.ts';
import { type Call, PooledTransport } from '../../kube/http/transport.ts';
import { LineSplitter } from '../../kube/http/watch-stream.ts';
import { GROUP_PATH } from '../../query/names.ts';

/** The cluster does not know the group: no query API is registered. */
export class QueryApiMissingError extends CodedError {
  constructor() {
    super(
      'QUERY_API_MISSING',
      'This cluster has no query API: the APIService v2.stored.michelangelo.api is not there. Install the component ' +
        'config/components/query (docs/query.md#install), or choose another cluster with --context.',
    );
  }
}

/** The query API is registered, and the API server does not get an answer from it. */
export class QueryApiDownError extends CodedError {
  constructor(reason: string) {
    super(
      'QUERY_API_DOWN',
      `The query API is registered and does not answer: ${reason}. Look at its pods, ` +
        'and at "kubectl get apiservice v2.stored.michelangelo.api -o yaml" (docs/runbooks.md#ingesterquerydown).',
      { retry: 'yes' },
    );
  }
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export interface StoredCall {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the group and version, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly form?: 'object' | 'table';
  readonly signal?: AbortSignal;
}

export interface WatchedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** The object, a table with it, or what has the version of a bookmark. */
  readonly object: JsonObject;
}

/** A watch without a byte for this long is dead: bookmarks come every minute. */
const WATCH_SILENCE_MS = 150_000;

export interface StoredObjectsOptions extends Pick<Configuration, 'kubernetes'> {
  readonly as?: Impersonated;
  /** The one whose objects are asked for; undefined: that of the query API. */
  readonly cluster?: string;
}

export class StoredObjects {
  readonly #transport: PooledTransport;
  readonly #cluster: { readonly cluster?: string };

  constructor({ kubernetes, as, cluster }: StoredObjectsOptions) {
    const { kubeconfig, context } = kubernetes;
    const acting = as === undefined ? {} : { as };
    this.#transport = new PooledTransport({ kubeconfig, context, ...acting, clock: systemClock });
    this.#cluster = cluster === undefined ? {} : { cluster };
  }

  /** Of the kubeconfig's context. */
  get namespace(): string {
    return this.#transport.namespace;
  }

  /** The document of a successful answer. Everything else is a KubeError. */
  async call({ method = 'GET', path, query = {}, body, form = 'object', signal }: StoredCall): Promise<JsonObject> {
    const call: Call = {
      method,
      path: `${GROUP_PATH}${path}`,
      query: { ...query, ...this.#cluster },
      ...(body === undefined
        ? {}
        : { body, contentType: `application/${method === 'PATCH' ? 'merge-patch+' : ''}json` }),
      accept: form === 'table' ? TABLE : 'application/json',
      ...signalOf(signal),
    };
    try {
      return documentOf(await textOf(await this.#transport.send(call)));
    } catch (error) {
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Unavailable')) await this.#refuseMissing(signal);
      throw error;
    }
  }

  /** Ends when the server ends it; everything else that ends it is a KubeError. */
  async *watch({ path, query = {}, form = 'object', signal }: StoredCall): AsyncGenerator<WatchedChange, void> {
    const body = await this.#openWatch({ path, query, form, ...signalOf(signal) });
    const splitter = new LineSplitter();
    try {
      for await (const chunk of body) {
        for (const line of splitter.push(chunk as Buffer)) yield changeOf(documentOf(line.toString()));
      }
    } catch (error) {
      throw error instanceof KubeError
        ? error
        : new KubeError('Unavailable', 'the watch was cut off; try again', { cause: error });
    }
    if (splitter.hasPartialLine) throw new KubeError('Unavailable', 'the watch was cut off; try again');
  }

  async #openWatch({ path, query, form, signal }: StoredCall): Promise<Readable> {
    try {
      return await this.#transport.send({
        method: 'GET',
        path: `${GROUP_PATH}${path}`,
        query: { ...query, ...this.#cluster, watch: 'true' },
        accept: form === 'table' ? TABLE : 'application/json',
        bodyTimeoutMs: WATCH_SILENCE_MS,
        ...signalOf(signal),
      });
    } catch (error) {
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Unavailable')) await this.#refuseMissing(signal);
      throw error;
    }
  }

  /** What every user may read where there is a query API: the plural names of its kinds. */
  async discovery(signal?: AbortSignal): Promise<readonly string[]> {
    const text = await textOf(await this.#transport.send({ method: 'GET', path: GROUP_PATH, ...signalOf(signal) }));
    const { resources } = documentOf(text);
    if (!Array.isArray(resources)) return [];
    return resources.flatMap((resource) => {
      const name = valueAt(resource, ['name']);
      return typeof name === 'string' ? [name] : [];
    });
  }

  /** An object that does not exist is not a query API that does not exist. */
  async #refuseMissing(signal: AbortSignal | undefined): Promise<void> {
    const reason = await this.discovery(signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (isKubeError(reason, 'NotFound')) throw new QueryApiMissingError();
    if (reason instanceof KubeError && reason.status === 503) throw new QueryApiDownError(reason.message);
  }

  /** Names of the namespaces that the user may list; for completion. */
  async namespaces(): Promise<readonly string[]> {
    const text = await textOf(
      await this.#transport.send({ method: 'GET', path: '/api/v1/namespaces', query: { limit: '500' } }),
    );
    const { items } = documentOf(text);
    return Array.isArray(items) ? items.flatMap((item) => nameOf(item)) : [];
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

const changes = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const;

/** One line of a watch; throws what an ERROR says. */
function changeOf({ type, object }: JsonObject): WatchedChange {
  const known = changes.find((one) => one === type);
  if (known !== undefined && isJsonObject(object)) return { type: known, object };
  const { code, message } = isJsonObject(object) ? object : {};
  const reason = reasonOfStatus(typeof code === 'number' ? code : 500) ?? 'Unavailable';
  throw new KubeError(reason, typeof message === 'string' ? message : 'the watch sent something that is not an event');
}

function signalOf(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function nameOf(item: unknown): readonly string[] {
  const metadata = isJsonObject(item) ? item['metadata'] : undefined;
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' ? [name] : [];
}

async function textOf(body: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of body) pieces.push(piece as Buffer);
  } catch (error) {
    throw new KubeError('Unavailable', 'the answer was cut off; try again', { cause: error });
  }
  return Buffer.concat(pieces).toString();
}

function documentOf(text: string): JsonObject {
  let document: unknown;
  try {
    document = parseLossless(text);
  } catch (error) {
    throw new KubeError('Unavailable', 'the answer is not JSON', { cause: error });
  }
  if (isJsonObject(document)) return document;
  throw new KubeError('Unavailable', 'the answer is not an object', {});
}
