// The API server of a world, but for one kind: of that there are as many objects as wanted. Each is made from its number
// when it is asked for, so that a million take neither etcd nor memory. Everything else is answered by the real server.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, Agent as HttpsAgent, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority } from '../../hack/local/certificates.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { listPage } from './list-page.ts';
import { benchObject } from './storage-objects.ts';
import { kind } from './sync-world.ts';

const OBJECT_BYTES = 2000;
const NAMESPACES = 50;
const BOOKMARK_MS = 30_000;
const GROUP_PATH = `/apis/${GROUP}/${VERSION}`;
const COLLECTION = `${GROUP_PATH}/${kind.plural}`;
const SINGLE = new RegExp(`^${GROUP_PATH}/namespaces/[^/]+/${kind.plural}/object-(\\d+)$`);

/** Which objects there are: all live ones of that many bulk-loaded rows, then as many as MySQL does not have. */
export interface Population {
  readonly loaded: number;
  readonly more: number;
}

export class ScaleServer {
  population: Population = { loaded: 0, more: 0 };
  readonly #server: Server;
  readonly #agent: HttpsAgent;
  readonly #real: URL;

  private constructor(server: Server, real: { readonly url: string; readonly caPem: string }) {
    this.#server = server;
    this.#real = new URL(real.url);
    this.#agent = new HttpsAgent({ keepAlive: true, ca: real.caPem });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
  }

  /** From now on the kubeconfig, which names the real server, names this one. */
  static async inFrontOf(
    real: { readonly url: string; readonly caPem: string },
    kubeconfig: string,
  ): Promise<ScaleServer> {
    const authority = await createAuthority('bench-ca');
    const { certificatePem, keyPem } = await authority.issue({ commonName: 'bench', hosts: ['127.0.0.1'] });
    const server = createServer({ cert: certificatePem, key: keyPem });
    const started = new ScaleServer(server, real);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: object }[] };
    for (const each of config.clusters) {
      each.cluster = {
        server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        'certificate-authority-data': Buffer.from(authority.caPem).toString('base64'),
      };
    }
    writeFileSync(kubeconfig, JSON.stringify(config));
    return started;
  }

  get count(): number {
    return liveOf(this.population.loaded) + this.population.more;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.#real);
    const single = SINGLE.exec(pathname)?.[1];
    if (request.method !== 'GET' || (single === undefined && pathname !== COLLECTION)) {
      this.#pass(request, response);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    if (single !== undefined) response.end(JSON.stringify(scaleObject(Number(single))));
    else if (searchParams.get('watch') === 'true') this.#watch(response);
    else response.end(this.#list(searchParams, request.headers.accept?.includes('PartialObjectMetadata') === true));
  }

  #list(query: URLSearchParams, metadataOnly: boolean): string {
    const { count } = this;
    const { kind: name } = kind;
    const textOf = (index: number): string => {
      const object = scaleObject(numberOf(index, this.population));
      return JSON.stringify(metadataOnly ? { ...object, spec: undefined, status: undefined } : object);
    };
    return listPage(query, { kind: name, count, resourceVersion: this.#version, textOf });
  }

  /** Nothing happens, and bookmarks say so. */
  #watch(response: ServerResponse): void {
    response.flushHeaders();
    const metadata = { resourceVersion: String(this.#version) };
    const object = { apiVersion: `${GROUP}/${VERSION}`, kind: kind.kind, metadata };
    const bookmark = `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
    const timer = setInterval(() => response.write(bookmark), BOOKMARK_MS);
    response.on('close', () => clearInterval(timer));
  }

  get #version(): number {
    return this.population.loaded + this.population.more + 1;
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url: path } = request;
    const { hostname, port } = this.#real;
    const passed = httpsRequest({ agent: this.#agent, hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response).on('error', () => response.destroy());
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  }
}

/** Of bulk-loaded rows those whose number ends with 9 are deleted. */
const LOADED_OF_TEN = 9;

function liveOf(loaded: number): number {
  return (loaded / 10) * LOADED_OF_TEN;
}

function numberOf(index: number, { loaded }: Population): number {
  const live = liveOf(loaded);
  return index < live ? index + Math.floor(index / LOADED_OF_TEN) : loaded + index - live;
}

/** What a bulk-loaded row of this number names, and has the version of. */
function scaleObject(number: number): KubernetesObject {
  const { metadata, ...rest } = benchObject(`scale-${number}`, number + 1, OBJECT_BYTES);
  const where = { namespace: `project-${number % NAMESPACES}`, name: `object-${number}`, uid: uidOf(number) };
  return { ...rest, metadata: { ...metadata, ...where, generation: 1 } };
}

function uidOf(number: number): string {
  const hex = createHash('sha256').update(String(number)).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
