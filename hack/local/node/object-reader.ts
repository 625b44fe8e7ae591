// Secrets, ConfigMaps and tokens of service accounts, read from the API server as the node's own user.

import type { Clock } from '../../../src/base/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { ifFound } from '../../../src/kube/found.ts';
import type { Transport } from '../../../src/kube/http/transport.ts';
import { configMaps, secrets } from '../../../src/kube/resources.ts';
import type { Pod, TokenSource } from './pod.ts';

const resources = { secret: secrets, configMap: configMaps } as const;

export type Texts = ReadonlyMap<string, Buffer>;

interface Remembered<T> {
  readonly atMs: number;
  readonly value: Promise<T>;
}

export interface ObjectReaderOptions {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  /** How long an answer is used again: many pods mount the same ConfigMap. */
  readonly maxAgeMs: number;
}

export class ObjectReader {
  readonly #options: ObjectReaderOptions;
  readonly #remembered = new Map<string, Remembered<Texts | undefined>>();

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  /** Undefined where there is no such object. */
  texts(kind: 'secret' | 'configMap', namespace: string, name: string): Promise<Texts | undefined> {
    const { clock, maxAgeMs } = this.#options;
    const key = `${kind}/${namespace}/${name}`;
    const known = this.#remembered.get(key);
    if (known !== undefined && clock.monotonicMs() - known.atMs < maxAgeMs) return known.value;
    const value = this.#read(kind, namespace, name);
    const remembered = { atMs: clock.monotonicMs(), value };
    this.#remembered.set(key, remembered);
    // Neither a failure nor an absence is worth remembering: a pod may wait for exactly this object.
    const forget = (): void => {
      if (this.#remembered.get(key) === remembered) this.#remembered.delete(key);
    };
    value.then((texts) => {
      if (texts === undefined) forget();
    }, forget);
    return value;
  }

  /** A token that is bound to the pod, and when it expires. */
  async token(
    pod: Pod,
    { audience, expirationSeconds = 3600 }: TokenSource,
  ): Promise<{ token: string; expires: Date }> {
    const { name, namespace, uid } = pod.metadata;
    const account = pod.spec.serviceAccountName ?? 'default';
    const body = await this.#options.transport.send({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: audience === undefined ? [] : [audience],
          expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
    });
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk as Buffer);
    const answer = JSON.parse(Buffer.concat(chunks).toString()) as {
      readonly status: { readonly token: string; readonly expirationTimestamp: string };
    };
    return { token: answer.status.token, expires: new Date(answer.status.expirationTimestamp) };
  }

  async #read(kind: 'secret' | 'configMap', namespace: string, name: string): Promise<Texts | undefined> {
    const object = await ifFound(this.#options.client.get({ resource: resources[kind], namespace, name }));
    if (object === undefined) return undefined;
    const encoding = kind === 'secret' ? 'base64' : 'utf8';
    return new Map([
      ...entries(object['data']).map(([key, text]) => [key, Buffer.from(text, encoding)] as const),
      ...entries(object['binaryData']).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
    ]);
  }
}

function entries(map: unknown): [string, string][] {
  return Object.entries((map ?? {}) as Readonly<Record<string, string>>);
}
