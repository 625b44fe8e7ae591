// The query API as a user's program calls it: through the API server, with the rights of the kubeconfig.
import type { Readable } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import type { Configuration } from '../../config/schema.ts';
import { KubeError } from '../../kube/errors.ts';
import { type Call, PooledTransport } from '../../kube/http/transport.ts';
import { GROUP_PATH } from '../../query/names.ts';

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

export class StoredObjects {
  readonly #transport: PooledTransport;

  constructor({ kubernetes }: Pick<Configuration, 'kubernetes'>) {
    const { kubeconfig, context } = kubernetes;
    this.#transport = new PooledTransport({ kubeconfig, context, clock: systemClock });
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
      query,
      ...(body === undefined
        ? {}
        : { body, contentType: `application/${method === 'PATCH' ? 'merge-patch+' : ''}json` }),
      accept: form === 'table' ? TABLE : 'application/json',
      ...(signal === undefined ? {} : { signal }),
    };
    return documentOf(await textOf(await this.#transport.send(call)));
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
