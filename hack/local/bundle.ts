// The whole bundle on this machine: control plane, MySQL, and the program's roles as processes under the service
// accounts and the RBAC that the manifests ship.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { type BundleDatabase, createBundleDatabase } from './bundle-database.ts';
import { createAuthority } from './certificates.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { freePort } from './free-port.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { type DatabaseServer, startDatabase } from './mysql.ts';
import { type Progress, progressOnStderr } from './progress.ts';
import { type Reaper, startReaper } from './reaper.ts';
import { createRole } from './role-process.ts';
import { runCommand } from './run-command.ts';
import type { ServerProcess } from './server-process.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const root = join(import.meta.dirname, '../..');
const NAMESPACE = 'ingester-system';
/** The demo stays up as long as a working day. */
const TOKEN_DURATION = '24h';

export interface Bundle {
  readonly directory: string;
  readonly controlPlane: ControlPlane;
  readonly server: DatabaseServer;
  readonly database: BundleDatabase;
  /** What the reconciler connects to instead of the server itself, so that the way can be cut. */
  readonly databaseLink: TcpProxy;
  readonly webhook: ServerProcess;
  readonly reconciler: ServerProcess;
  readonly reconcilerHealthPort: number;
  /** Another reconciler beside the first, not started yet. */
  createReplica(name: string): Promise<{ readonly process: ServerProcess; readonly healthPort: number }>;
  /** Runs kubectl as administrator and fails with its output where it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

export interface BundleOptions {
  readonly progress?: Progress;
  readonly flavour?: 'mysql' | 'mariadb';
  /** Merged over the reconciler's configuration, section by section. */
  readonly configuration?: Readonly<Record<string, object>>;
  /** Leaves the reconciler for the caller to start. */
  readonly startReconciler?: boolean;
  readonly signal?: AbortSignal;
}

/** Ends what was started, newest first, however far the start got. */
class Stack {
  readonly #undo: (() => Promise<void>)[] = [];

  add(undo: () => Promise<void>): void {
    this.#undo.push(undo);
  }

  async unwind(): Promise<void> {
    for (const undo of this.#undo.splice(0).toReversed()) await undo();
  }
}

export async function startBundle(options: BundleOptions = {}): Promise<Bundle> {
  const stack = new Stack();
  try {
    return await start(options, stack);
  } catch (error) {
    await stack.unwind();
    throw error;
  }
}

async function start(options: BundleOptions, stack: Stack): Promise<Bundle> {
  const { progress = progressOnStderr, flavour = 'mysql', signal } = options;
  const interruptible = signal === undefined ? {} : { signal };
  /** Says what comes next, unless somebody has asked to stop. */
  const step = (what: string): void => {
    signal?.throwIfAborted();
    progress(what);
  };
  const directory = mkdtempSync(join(tmpdir(), 'ingester-bundle-'));
  const reaper = startReaper(directory);
  stack.add(async () => {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  step('starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler');
  const controlPlane = await startControlPlane({ progress, ...interruptible });
  stack.add(() => controlPlane.stop());
  step(`starting ${flavour}`);
  const server = await startDatabase({ flavour, progress, ...interruptible });
  stack.add(() => server.dispose());
  const database = await createBundleDatabase(server);
  if (server.external) stack.add(() => database.drop());
  const databaseLink = await startTcpProxy(server);
  stack.add(() => databaseLink.close());
  const configuration = options.configuration ?? {};
  const context: Context = { directory, reaper, controlPlane, server, database, databaseLink, configuration };
  step('creating the tables: ingester task migrate');
  await migrate(context);
  step('starting the webhook: ingester webhook');
  const webhook = await startWebhook(context);
  stack.add(() => webhook.stop());
  step('applying the bundle: kubectl apply -k config/overlays/local');
  await applyManifests(context);
  const kubeconfig = await writeReconcilerKubeconfig(context);
  const createReplica = async (name: string): Promise<Reconciler> => {
    const replica = await createReconciler(context, kubeconfig, name);
    stack.add(() => replica.process.stop());
    return replica;
  };
  const { process: reconciler, healthPort } = await createReplica('reconciler');
  if (options.startReconciler !== false) {
    step('starting the reconciler under its service account: ingester reconciler');
    await reconciler.start(signal);
  }
  return {
    directory,
    controlPlane,
    server,
    database,
    databaseLink,
    webhook,
    reconciler,
    reconcilerHealthPort: healthPort,
    createReplica,
    kubectl: (...args) => kubectl(controlPlane, args),
    stop: () => stack.unwind(),
  };
}

interface Context {
  readonly directory: string;
  readonly reaper: Reaper;
  readonly controlPlane: ControlPlane;
  readonly server: DatabaseServer;
  readonly database: BundleDatabase;
  readonly databaseLink: TcpProxy;
  readonly configuration: Readonly<Record<string, object>>;
}

async function kubectl(controlPlane: ControlPlane, args: readonly string[]): Promise<string> {
  return (await controlPlane.kubectlRun(args)).stdout;
}

async function migrate({ directory, server, database }: Context): Promise<void> {
  const { user, password } = database.migrator;
  const env = {
    ...process.env,
    INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
    INGESTER_MYSQL_HOST: server.host,
    INGESTER_MYSQL_PORT: String(server.port),
    INGESTER_MYSQL_USER: user,
    INGESTER_MYSQL_PASSWORD: password,
    INGESTER_MYSQL_DATABASE: database.name,
  };
  const args = [join(root, 'src/main.ts'), 'task', 'migrate'];
  const { code, stderr } = await runCommand(process.execPath, args, { cwd: directory, env });
  if (code !== 0) throw new CodedError('LOCAL_MIGRATE', `ingester task migrate failed:\n${stderr}`);
}

async function startWebhook({ directory, reaper }: Context): Promise<ServerProcess> {
  const [port, healthPort] = [await freePort(), await freePort()];
  const authority = await createAuthority('ingester-webhook-ca');
  const pair = await authority.issue({ commonName: 'ingester-webhook', hosts: ['127.0.0.1'] });
  const certDir = join(directory, 'tls');
  mkdirSync(certDir);
  writeFileSync(join(certDir, 'tls.crt'), pair.certificatePem);
  writeFileSync(join(certDir, 'tls.key'), pair.keyPem, { mode: 0o600 });
  // The overlay reads this file; it is copied together with the manifests, so several bundles never share it.
  for (const folder of ['config', 'crds']) cpSync(join(root, folder), join(directory, folder), { recursive: true });
  const caBundle = Buffer.from(authority.caPem).toString('base64');
  const overlay = `url=https://127.0.0.1:${port}/mutate\ncaBundle=${caBundle}\n`;
  writeFileSync(join(directory, 'config/overlays/local/webhook.env'), overlay);
  const configuration = { webhook: { bindAddress: `127.0.0.1:${port}`, certDir }, log: { level: 'debug' } };
  const webhook = createRole({ role: 'webhook', directory, configuration, healthPort, reaper });
  await webhook.start();
  return webhook;
}

async function applyManifests({ controlPlane, directory }: Context): Promise<void> {
  await kubectl(controlPlane, ['apply', '-k', join(directory, 'config/overlays/local')]);
  await kubectl(controlPlane, ['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);
}

interface Reconciler {
  readonly process: ServerProcess;
  readonly healthPort: number;
}

/** A kubeconfig of the reconciler's service account, so that the shipped RBAC is what it runs under. */
async function writeReconcilerKubeconfig({ controlPlane, directory }: Context): Promise<string> {
  const account = 'ingester-reconciler';
  const tokenArgs = ['create', 'token', account, '-n', NAMESPACE, `--duration=${TOKEN_DURATION}`];
  const token = (await kubectl(controlPlane, tokenArgs)).trim();
  const kubeconfig = join(directory, 'reconciler.kubeconfig');
  const { url, caPem } = controlPlane;
  writeFileSync(kubeconfig, kubeconfigText({ url, caPem, user: { name: account, token } }), { mode: 0o600 });
  return kubeconfig;
}

/** Not started yet. Every replica has the same configuration and a name of its own. */
async function createReconciler(context: Context, kubeconfig: string, name: string): Promise<Reconciler> {
  const { directory, database, databaseLink, reaper } = context;
  const { ingester, ...more } = context.configuration;
  const healthPort = await freePort();
  const configuration = {
    metadataStorage: { enableMetadataStorage: true },
    mysql: { host: databaseLink.host, port: databaseLink.port, database: database.name, ...database.writer },
    ingester: { requeuePeriod: '2s', concurrentReconciles: 2, ...ingester },
    kubernetes: { kubeconfig },
    ...more,
  };
  const process = createRole({ role: 'reconciler', name, directory, configuration, healthPort, reaper });
  return { process, healthPort };
}
