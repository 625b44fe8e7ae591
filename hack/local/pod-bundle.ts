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
import type { ControlPlane } from './control-plane.ts';
import { type ClusterNetwork, startClusterNetwork } from './node/cluster-network.ts';
import type { LocalImage } from './node/image-table.ts';
import { ingesterImage, mysqlClientImage } from './node/images.ts';
import { type ProcessNode, startProcessNode } from './node/start-node.ts';
import { whileAllRun } from './server-died.ts';
import type { ServerProcess } from './server-process.ts';
import { trustQuery } from './trust-query.ts';
import { applyManifests } from './webhook-process.ts';

const overlays = join(import.meta.dirname, '../../config/overlays');
const crds = join(import.meta.dirname, '../../crds');
const NAMESPACE = 'ingester-system';
const SERVICE = 'ingester-webhook';
const QUERY = 'ingester-query';
const WAIT = '--timeout=120s';

/** A node that runs pods, and the Secrets with the accounts of the database. */
export interface PodCluster extends BundleServers {
  readonly node: ProcessNode;
  readonly network: ClusterNetwork;
  /** Those Secrets, and the namespace they are in. */
  readonly accounts: readonly object[];
  /** Every process of it, except those of pods. */
  readonly servers: readonly ServerProcess[];
  stop(): Promise<void>;
}

export interface PodClusterOptions extends BundleServersOptions {
  /** Looked at before those of this project. */
  readonly images?: readonly LocalImage[];
}

export interface PodBundle extends PodCluster {
  /** Once more, as a user does who finds its namespace gone. */
  install(): Promise<void>;
}

export interface PodBundleOptions extends PodClusterOptions {
  /** What is applied: the plain bundle, unless given, that with the query API, or one whose lifecycle controller waits for an Ingester resource. */
  readonly overlay?: 'process-node' | 'process-node-query' | 'process-node-lifecycle';
}

/** Everything that the bundle needs, and nothing of it installed. */
export function startPodCluster(options: PodClusterOptions = {}): Promise<PodCluster> {
  return withUndo((stack) => startCluster(options, stack));
}

export function startPodBundle(options: PodBundleOptions = {}): Promise<PodBundle> {
  return withUndo(async (stack) => {
    const cluster = await startCluster(options, stack);
    await whileAllRun(cluster.servers, install(options, cluster));
    const again = async (): Promise<void> => {
      await applySecrets(cluster.controlPlane, cluster.accounts);
      await install(options, cluster);
    };
    return { ...cluster, install: again };
  });
}

async function startCluster(options: PodClusterOptions, stack: UndoStack): Promise<PodCluster> {
  const step = stepper(options);
  const databaseAuthority = await createAuthority('mysql-ca');
  const servers = await startBundleServers({ ...options, databaseAuthority }, stack);
  const { controlPlane } = servers;
  step('starting a node that runs pods as processes');
  const network = await startClusterNetwork(controlPlane);
  stack.add(() => network.stop());
  const node = await startProcessNode(controlPlane, {
    images: [...(options.images ?? []), ...imagesOf(servers)],
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  stack.add(() => node.stop());
  step('creating the Secrets of the MySQL accounts');
  const accounts = accountSecrets(servers, databaseAuthority);
  await applySecrets(controlPlane, accounts);
  const { etcd, apiServer, controllerManager, scheduler } = controlPlane;
  const all = [etcd, apiServer, controllerManager, scheduler, servers.server.process, node.process];
  const running = all.filter((server) => server !== undefined);
  return { ...servers, node, network, accounts, servers: running, stop: () => stack.unwind() };
}

async function install(options: PodBundleOptions, cluster: PodCluster): Promise<void> {
  const step = stepper(options);
  const { controlPlane, kubectl } = cluster;
  step('creating the Secrets of the certificates');
  const authority = await createAuthority('ingester-webhook-ca');
  await applySecrets(controlPlane, await certificateSecrets(authority));
  const { overlay = 'process-node' } = options;
  const plain = overlay !== 'process-node-lifecycle';
  if (plain) {
    step("creating the CRDs, as Michelangelo's own API server has done before in its clusters");
    await controlPlane.kubectlRun([
      'apply',
      '--server-side',
      '--force-conflicts',
      '--field-manager=apiserver',
      '-k',
      crds,
    ]);
  }
  step(`applying the bundle: kubectl apply -k config/overlays/${overlay}`);
  await applyManifests(controlPlane, join(overlays, overlay));
  await trust(cluster, authority);
  step('waiting for the Deployments, and for the Job that migrates');
  if (plain) {
    await kubectl('wait', '-n', NAMESPACE, '--for=condition=Complete', WAIT, 'job/ingester-migrate');
  }
  await kubectl('wait', '-n', NAMESPACE, '--for=condition=Available', WAIT, 'deployment', '--all');
  if (overlay === 'process-node-query') {
    step('waiting until the API server passes on to the query API');
    await trustQuery(kubectl, authority.caPem);
  }
  step('waiting until new objects are guarded: the Job ingester-probe');
  if (plain) {
    await kubectl('wait', '-n', NAMESPACE, '--for=condition=Complete', WAIT, 'job/ingester-probe');
  }
}

function imagesOf({ controlPlane, server }: BundleServers): Parameters<typeof startProcessNode>[1]['images'] {
  const bin = join(controlPlane.directory, 'images');
  mkdirSync(bin);
  return [ingesterImage(join(bin, 'ingester')), mysqlClientImage(join(bin, 'mysql'), server.clientCommand())];
}

function accountSecrets({ database, databaseLink }: BundleServers, authority: Authority): readonly object[] {
  // By name: that is what the certificate of the server proves.
  const place = { host: 'localhost', port: String(databaseLink.port), 'ca.crt': authority.caPem };
  const account = ({ user, password }: Account): Readonly<Record<string, string>> => {
    return { ...place, database: database.name, user, password };
  };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    secret('ingester-mysql', 'Opaque', account(database.writer)),
    secret('ingester-mysql-migrate', 'Opaque', account(database.migrator)),
  ];
}

async function certificateSecrets(authority: Authority): Promise<readonly object[]> {
  const hosts = [`${SERVICE}.${NAMESPACE}.svc`, `${SERVICE}.${NAMESPACE}.svc.cluster.local`];
  const { certificatePem, keyPem } = await authority.issue({ commonName: SERVICE, hosts });
  const query = await authority.issue({ commonName: QUERY, hosts: [`${QUERY}.${NAMESPACE}.svc`] });
  return [
    secret('ingester-webhook-tls', 'kubernetes.io/tls', { 'tls.crt': certificatePem, 'tls.key': keyPem }),
    secret('ingester-query-tls', 'kubernetes.io/tls', { 'tls.crt': query.certificatePem, 'tls.key': query.keyPem }),
  ];
}

async function applySecrets(controlPlane: ControlPlane, items: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await controlPlane.kubectlRun(['apply', '-f', '-'], { input });
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
