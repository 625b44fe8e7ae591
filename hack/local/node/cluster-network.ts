// The network of a cluster whose pods are processes: finds the loopback address behind a Service or a pod, as kube-proxy
// would route it, and carries there what the API server dials inside the cluster.

import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CodedError, messageOf } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import { Informer } from '../../../src/kube/informer.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import type { KnownObject } from '../../../src/kube/watched-object.ts';
import type { ControlPlane } from '../control-plane.ts';
import { kubeconfigText } from '../kubeconfig.ts';
import { onlyOnce } from '../only-once.ts';
import { waitUntil } from '../wait-until.ts';
import { type Destination, type NetworkState, routeTo } from './route.ts';

export interface ClusterNetwork {
  /** Where `host:port` leads now: host is an address of a Service or pod, or `<service>.<namespace>.svc`. */
  resolve(host: string, port: number): Destination;
  /** A connection to it. */
  connect(host: string, port: number): Promise<Socket>;
  stop(): Promise<void>;
}

const SERVICES = { group: '', version: 'v1', plural: 'services' } as const;
const NODES = { group: '', version: 'v1', plural: 'nodes' } as const;
const SLICES = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices' } as const;
const syncTimeoutMs = 30_000;

export async function startClusterNetwork(controlPlane: ControlPlane): Promise<ClusterNetwork> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const logger = createLogger('error', 'cluster-network');
  const transport = new PooledTransport({
    kubeconfig: await proxyKubeconfig(controlPlane),
    context: '',
    clock: systemClock,
  });
  const client = new HttpKubeClient(transport);
  const informers = [SERVICES, SLICES, NODES].map(
    (resource) => new Informer({ client, resource, store: new IdentityStore(), clock: systemClock, logger }),
  );
  const [services, slices, nodes] = informers.map(objectsOf) as [
    NetworkState['services'],
    NetworkState['slices'],
    NetworkState['nodes'],
  ];
  const state: NetworkState = { services, slices, nodes };
  const running = informers.map((informer) => informer.run(signal));
  const resolve = (host: string, port: number): Destination => routeTo(host, port, state);
  const server = await startEgress(controlPlane.egressSocket, resolve);
  const stop = onlyOnce(async () => {
    stopping.abort();
    server.closeAllConnections();
    server.close();
    await Promise.all(running);
    await client.close();
  });
  if (!(await waitUntil(() => informers.every(({ synced }) => synced), { timeoutMs: syncTimeoutMs }))) {
    await stop();
    throw new CodedError('LOCAL_NETWORK', 'The cluster network could not read Services from the API server in time.');
  }
  return { resolve, connect: (host, port) => connectTo(resolve(host, port)), stop };
}

function objectsOf(informer: Informer): () => readonly KubernetesObject[] {
  const objects = new Map<string, KubernetesObject>();
  const keep = ({ key, watched }: KnownObject): void => {
    if (watched !== undefined) objects.set(key, watched.parse());
  };
  informer.addHandler({ add: keep, update: (_, after) => keep(after), delete: ({ key }) => objects.delete(key) });
  return () => [...objects.values()];
}

/** It may read what kube-proxy may read, and nothing else. */
async function proxyKubeconfig({ authority, caPem, url, directory }: ControlPlane): Promise<string> {
  const name = 'system:kube-proxy';
  const certificate = await authority.issue({ commonName: name });
  const file = join(directory, 'cluster-network.kubeconfig');
  writeFileSync(file, kubeconfigText({ url, caPem, user: { name, certificate } }), { mode: 0o600 });
  return file;
}

/** An HTTP proxy on a Unix socket that knows CONNECT only: the API server's egress selector speaks that. */
export async function startEgress(path: string, resolve: (host: string, port: number) => Destination): Promise<Server> {
  rmSync(path, { force: true });
  const server = createHttpServer((_request, response) => response.writeHead(405).end());
  server.on('connect', (request, client: Duplex) => {
    client.on('error', () => undefined);
    const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(request.url ?? '') ?? [];
    connectInside(() => resolve(host, Number(port))).then(
      (inside) => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(inside).pipe(client);
        // Each side ends on its own, as without a proxy between; what was sent before arrives.
        inside.once('close', () => client.end());
        client.once('close', () => inside.destroy());
      },
      (error: unknown) => client.end(`HTTP/1.1 502 Bad Gateway\r\n\r\n${messageOf(error)}`),
    );
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(path, done);
  });
  server.unref();
  return server;
}

async function connectInside(resolve: () => Destination): Promise<Socket> {
  return connectTo(resolve());
}

function connectTo({ host, port }: Destination): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port, allowHalfOpen: true });
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
