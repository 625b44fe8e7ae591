import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { isConnecting, MAX_TRIES } from '../../hack/local/kubectl.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { CodedError } from '../../src/base/errors.ts';

export interface ApiAnswer {
  readonly status: number;
  /** The object, or a Status. */
  readonly body: KubernetesObject & { readonly message?: string; readonly reason?: string };
  /** What came, whatever it is. */
  readonly text: string;
  readonly warnings: readonly string[];
}

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Another user than the administrator. */
  readonly as?: string;
  /** Groups of that user. */
  readonly groups?: readonly string[];
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

export const contentTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Calls to an API server exactly as written, without what a client library adds. */
export class ApiServer {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const decoded = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64');
    this.#url = clusters[0].cluster['server'] ?? '';
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 32,
      ca: decoded(clusters[0].cluster['certificate-authority-data']),
      cert: decoded(users[0].user['client-certificate-data']),
      key: decoded(users[0].user['client-key-data']),
    });
  }

  call({ method, path, body, contentType = 'application/json', as, groups }: ApiCall): Promise<ApiAnswer> {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...(as === undefined ? {} : { 'impersonate-user': as }),
      ...(groups === undefined ? {} : { 'impersonate-group': [...groups] }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#url}${path}`, { method, headers, agent: this.#agent }, (response) => {
        const warnings = [response.headers.warning ?? []].flat().flatMap(warningTexts);
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, body: parsed(text), text, warnings });
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  /** The same, tried again where the webhook asks for that, as kubectl is. */
  async patiently(call: ApiCall): Promise<ApiAnswer> {
    let answer = await this.call(call);
    for (let tries = 1; tries < MAX_TRIES && isConnecting(answer.text); tries += 1) answer = await this.call(call);
    return answer;
  }

  /** The same, and an error unless it succeeds. */
  async must(call: ApiCall): Promise<ApiAnswer['body']> {
    const { status, body } = await this.patiently(call);
    if (status < 300) return body;
    throw new CodedError('TEST_API', `${call.method} ${call.path}: ${status} ${body.message ?? ''}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Over connections of its own: the API server may have been restarted since the last. */
export async function askApiServer<T>(kubeconfig: string, work: (api: ApiServer) => Promise<T>): Promise<T> {
  const api = new ApiServer(kubeconfig);
  try {
    return await work(api);
  } finally {
    api.close();
  }
}

function parsed(text: string): ApiAnswer['body'] {
  try {
    return JSON.parse(text) as ApiAnswer['body'];
  } catch {
    return { message: text } as unknown as ApiAnswer['body'];
  }
}

/** `299 - "one", 299 - "two"` → one, two. */
function warningTexts(header: string): readonly string[] {
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll('\\"', '"'));
}

export function pathOf({ plural }: Pick<KindDefinition, 'plural'>, namespace: string, name?: string): string {
  const collection = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${plural}`;
  return name === undefined ? collection : `${collection}/${name}`;
}
