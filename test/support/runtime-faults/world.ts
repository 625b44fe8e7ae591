// The API server that the faults happen to, the ways to it, and a client that writes to it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPlane, startControlPlane } from '../../../hack/local/control-plane.ts';
import { kubeconfigText } from '../../../hack/local/kubeconfig.ts';
import { startTcpProxy, type TcpProxy } from '../../../hack/local/tcp-proxy.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Resource } from '../../../src/kube/client.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import { configMapRef } from '../../../src/kube/resources.ts';
import { eventually } from '../eventually.ts';
import { type FaultyProxy, startFaultyProxy } from '../faulty-proxy.ts';
import { steadyHandles } from '../open-handles.ts';

export const NS = 'runtime-faults';
const NAMES = 40;
const WRITES = 20;

export interface World {
  readonly controlPlane: ControlPlane;
  /** What the process had open before the first fault. */
  readonly handles: Readonly<Record<string, number>>;
  /** Refuses and breaks off. */
  readonly proxy: FaultyProxy;
  /** Cuts and freezes connections. */
  readonly link: TcpProxy;
  /** Kubeconfigs of an administrator through the proxy and through the link. */
  readonly proxied: string;
  readonly linked: string;
  /** Writes a kubeconfig whose user is as given; its path. */
  readonly kubeconfig: (name: string, url: string, user: Readonly<Record<string, string>>) => string;
  /** Creates, changes, deletes and re-creates objects, straight at the API server. */
  readonly write: () => Promise<void>;
  /** Keys with uid and resourceVersion of what the API server has. */
  readonly versions: (resource: Resource) => Promise<ReadonlyMap<string, string>>;
  /** With a client that is closed afterwards, so that it leaves nothing to be counted. */
  readonly use: <T>(action: (client: HttpKubeClient) => Promise<T>) => Promise<T>;
  stop(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const controlPlane = await startControlPlane({ minimal: true });
  await controlPlane.kubectlRun(['create', 'namespace', NS]);
  await controlPlane.kubectlRun(['apply', '-k', 'crds']);
  await controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all']);
  const proxy = await startFaultyProxy(controlPlane);
  const link = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(controlPlane.url).port) });
  const linkUrl = `https://${link.host}:${link.port}`;
  const admin = await controlPlane.authority.issue({ commonName: 'admin', organizations: ['system:masters'] });
  const kubeconfigFor = (name: string, url: string): string => {
    const path = join(controlPlane.directory, `${name}.kubeconfig`);
    const user = { name: 'admin', certificate: admin };
    writeFileSync(path, kubeconfigText({ url, caPem: controlPlane.caPem, user }));
    return path;
  };
  return {
    controlPlane,
    handles: await steadyHandles(),
    proxy,
    link,
    proxied: kubeconfigFor('proxied', proxy.url),
    linked: kubeconfigFor('linked', linkUrl),
    kubeconfig: (name, url, user) => writeKubeconfig(controlPlane, { name, url, user }),
    write: writer(controlPlane),
    versions: (resource) => withClient(controlPlane.kubeconfig, (client) => versionsOf(client, resource)),
    use: (action) => withClient(controlPlane.kubeconfig, action),
    stop: async () => {
      await Promise.all([proxy.close(), link.close()]);
      await controlPlane.stop();
    },
  };
}

async function withClient<T>(kubeconfig: string, action: (client: HttpKubeClient) => Promise<T>): Promise<T> {
  const client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  try {
    return await action(client);
  } finally {
    await client.close();
  }
}

interface Access {
  readonly name: string;
  readonly url: string;
  readonly user: Readonly<Record<string, string>>;
}

function writeKubeconfig({ directory, caPem }: ControlPlane, { name, url, user }: Access): string {
  const path = join(directory, `${name}.kubeconfig`);
  const ca = Buffer.from(caPem).toString('base64');
  const config = {
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

async function versionsOf(client: HttpKubeClient, resource: Resource): Promise<ReadonlyMap<string, string>> {
  const versions = new Map<string, string>();
  let token: string | undefined;
  do {
    const options = { namespace: NS, limit: 5000, metadataOnly: true };
    const page = token === undefined ? options : { ...options, continueToken: token };
    const { items, continueToken } = await client.list(resource, page, new AbortController().signal);
    for (const { key, identity } of items) versions.set(key, `${identity.uid} ${identity.resourceVersion}`);
    token = continueToken;
  } while (token !== undefined);
  return versions;
}

function writer(controlPlane: ControlPlane): () => Promise<void> {
  const options = { fieldManager: 'test', force: true };
  let round = 0;
  const writeOne = async (client: HttpKubeClient, index: number): Promise<void> => {
    const name = `object-${(round * 7 + index) % NAMES}`;
    const ref = configMapRef(NS, name);
    const object = (value: string): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: NS },
      data: { value, filler: 'x'.repeat(2000) },
    });
    await client.apply(ref, object(`round ${round}`), options);
    if (index % 3 === 0) await client.delete(ref, {});
    if (index % 6 === 0) await client.apply(ref, object(`again ${round}`), options);
  };
  return async () => {
    round += 1;
    await withClient(controlPlane.kubeconfig, (client) =>
      Promise.all(Array.from({ length: WRITES }, (_, index) => eventually(() => writeOne(client, index)))),
    );
  };
}
