// The whole bundle on this machine as it is installed in a cluster: the shipped manifests are applied, and the pods of
// their Deployments run as processes on a node of this machine.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './bundle-database.ts';
import {
  type BundleServers,
  type BundleServersOptions,
  startBundleServers,
  stepper,
  type UndoStack,
  withUndo,
} from './bundle-servers.ts';
import { type Authority, createAuthority } from './certificates.ts';
import { type ClusterNetwork, startClusterNetwork } from './node/cluster-network.ts';
import type { LocalImage } from './node/image-table.ts';
import { ingesterImage, mysqlClientImage } from './node/images.ts';
import { type ProcessNode, startProcessNode } from './node/start-node.ts';
import { applyManifests } from './webhook-process.ts';

const overlays = join(import.meta.dirname, '../../config/overlays');
const NAMESPACE = 'ingester-system';
const SERVICE = 'ingester-webhook';
const QUERY = 'ingester-query';
const WAIT = '--timeout=120s';

export interface PodBundle extends BundleServers {
  readonly node: ProcessNode;
  readonly network: ClusterNetwork;
  stop(): Promise<void>;
}

export interface PodBundleOptions extends BundleServersOptions {
  /** What is applied: the plain bundle, unless given, or one whose lifecycle controller waits for an Ingester resource. */
  readonly overlay?: 'process-node' | 'process-node-lifecycle';
  /** Looked at before those of this project. */
  readonly images?: readonly LocalImage[];
}

export function startPodBundle(options: PodBundleOptions = {}): Promise<PodBundle> {
  return withUndo((stack) => start(options, stack));
}

async function start(options: PodBundleOptions, stack: UndoStack): Promise<PodBundle> {
  const step = stepper(options);
  const servers = await startBundleServers(options, stack);
  const { controlPlane, kubectl } = servers;
  step('starting a node that runs pods as processes');
  const network = await startClusterNetwork(controlPlane);
  stack.add(() => network.stop());
  const node = await startProcessNode(controlPlane, {
    images: [...(options.images ?? []), ...imagesOf(servers)],
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  stack.add(() => node.stop());
  step('creating the Secrets: MySQL accounts and the certificate of the webhook');
  const authority = await createAuthority('ingester-webhook-ca');
  await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(await secrets(servers, authority)) });
  const { overlay = 'process-node' } = options;
  step(`applying the bundle: kubectl apply -k config/overlays/${overlay}`);
  await applyManifests(controlPlane, join(overlays, overlay));
  await trust(servers, authority);
  step('waiting for the Deployments, and for the Job that migrates');
  if (overlay === 'process-node') {
    await kubectl('wait', '-n', NAMESPACE, '--for=condition=Complete', WAIT, 'job/ingester-migrate');
  }
  await kubectl('wait', '-n', NAMESPACE, '--for=condition=Available', WAIT, 'deployment', '--all');
  step('waiting until new objects are guarded: the Job ingester-probe');
  if (overlay === 'process-node') {
    await kubectl('wait', '-n', NAMESPACE, '--for=condition=Complete', WAIT, 'job/ingester-probe');
  }
  return { ...servers, node, network, stop: () => stack.unwind() };
}

function imagesOf({ controlPlane, server }: BundleServers): Parameters<typeof startProcessNode>[1]['images'] {
  const bin = join(controlPlane.directory, 'images');
  mkdirSync(bin);
  return [ingesterImage(join(bin, 'ingester')), mysqlClientImage(join(bin, 'mysql'), server.clientCommand())];
}

async function secrets({ database, databaseLink }: BundleServers, authority: Authority): Promise<object> {
  const hosts = [`${SERVICE}.${NAMESPACE}.svc`, `${SERVICE}.${NAMESPACE}.svc.cluster.local`];
  const { certificatePem, keyPem } = await authority.issue({ commonName: SERVICE, hosts });
  const query = await authority.issue({ commonName: QUERY, hosts: [`${QUERY}.${NAMESPACE}.svc`] });
  const { host, port } = databaseLink;
  const account = ({ user, password }: Account): Readonly<Record<string, string>> => {
    return { host, port: String(port), database: database.name, user, password };
  };
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    secret('ingester-mysql', 'Opaque', account(database.writer)),
    secret('ingester-mysql-migrate', 'Opaque', account(database.migrator)),
    secret('ingester-webhook-tls', 'kubernetes.io/tls', { 'tls.crt': certificatePem, 'tls.key': keyPem }),
    secret('ingester-query-tls', 'kubernetes.io/tls', { 'tls.crt': query.certificatePem, 'tls.key': query.keyPem }),
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

function secret(name: string, type: string, stringData: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, type, stringData };
}

/** Has the API server trust the webhook, as cert-manager's injector does in a cluster: what kubectl writes, Flux undoes. */
async function trust({ kubectl }: BundleServers, { caPem }: Authority): Promise<void> {
  const value = Buffer.from(caPem).toString('base64');
  for (const name of [
    'mutatingwebhookconfiguration/ingester-finalizer',
    'validatingwebhookconfiguration/ingester-rules',
  ]) {
    const { webhooks } = JSON.parse(await kubectl('get', name, '-o', 'json')) as { webhooks: unknown[] };
    const patch = webhooks.map((_, index) => ({ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value }));
    const manager = '--field-manager=cert-manager-cainjector';
    await kubectl('patch', name, '--type=json', manager, '-p', JSON.stringify(patch));
  }
}
