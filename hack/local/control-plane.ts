// A real Kubernetes control plane on loopback, for tests and the demo: etcd, API server, controller manager and
// scheduler; nodes are added with node/start-node.ts. Whatever happens to the process that started it, nothing of it stays behind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { findBinaries } from './binaries.ts';
import type { Authority, Certificate } from './certificates.ts';
import { writeControlPlaneFiles, writeSecret } from './control-plane-files.ts';
import {
  type Listening,
  type ServerContext,
  startApiServer,
  startControllerManager,
  startEtcd,
  startScheduler,
} from './control-plane-servers.ts';
import { etcdTemplate } from './etcd-template.ts';
import { answersOk } from './https-probe.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { type KubectlOptions, type KubectlResult, kubectlRunner } from './kubectl.ts';
import { logTail } from './log-tail.ts';
import { onlyOnce } from './only-once.ts';
import { type Progress, progressOnStderr, withElapsedTime } from './progress.ts';
import { startReaper } from './reaper.ts';
import type { ServerProcess } from './server-process.ts';
import { waitUntil } from './wait-until.ts';

export interface ControlPlane {
  /** Everything of this control plane lives in it. */
  readonly directory: string;
  readonly url: string;
  /** The certificate authority of the API server, as PEM. */
  readonly caPem: string;
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly binDir: string;
  readonly apiServer: ServerProcess;
  readonly etcd: ServerProcess;
  readonly etcdUrl: string;
  readonly controllerManager: ServerProcess | undefined;
  readonly scheduler: ServerProcess | undefined;
  /** The authority of `caPem`, for what joins the cluster. */
  readonly authority: Authority;
  /** Where the node that runs pods listens for what the API server dials inside the cluster (HTTP CONNECT). */
  readonly egressSocket: string;
  kubectlRun(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** Ends all and removes the directory. Calling it again is harmless. */
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly progress?: Progress;
  readonly parentDirectory?: string;
  /** Without controller manager and scheduler: no service accounts, no garbage collection, no namespace deletion. */
  readonly minimal?: boolean;
  /** Writes the calls of this group of users to `audit.log` in the directory of the control plane. */
  readonly auditedGroup?: string;
  /** What the API server shows to the webhooks it calls. */
  readonly webhookClient?: Certificate;
  /** Host and port to which the API server sends its own traces, every one of them; nothing has to listen there. */
  readonly tracesTo?: string;
  /** Of the API server, beside its defaults: `Name=true`. */
  readonly featureGates?: string;
  /** `off`: watches come from etcd itself, so they bring no bookmarks. */
  readonly watchCache?: 'off';
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

const objectsTimeoutMs = 60_000;

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { progress = progressOnStderr, parentDirectory = tmpdir(), signal, env = process.env } = options;
  const preparation = { env, progress, signal };
  const binDir = await findBinaries(preparation);
  const template = await etcdTemplate(binDir, preparation);
  const directory = mkdtempSync(join(parentDirectory, 'control-plane-'));
  const reaper = startReaper(directory);
  const servers: ServerProcess[] = [];
  const stop = onlyOnce(async () => {
    // Their data are not read again, so there is no reason to wait for a clean shutdown.
    await Promise.all(servers.map((server) => server.crash()));
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  try {
    const files = await writeControlPlaneFiles(directory);
    const { auditedGroup, webhookClient, tracesTo, featureGates, watchCache } = options;
    const asked = { auditedGroup, webhookClient, tracesTo, featureGates, watchCache };
    const context = { binDir, files, reaper, signal, template, ...asked };
    const start = (): Promise<Started> => startServers(context, servers, options.minimal ?? false);
    const started = await withElapsedTime(progress, () => 'Starting the control plane', start);
    const { url } = started;
    const kubeconfig = join(directory, 'kubeconfig');
    const user = { name: 'kubernetes-admin', certificate: files.admin };
    writeSecret(kubeconfig, kubeconfigText({ url, caPem: files.caPem, user }));
    const kubectl = join(binDir, 'kubectl');
    const kubectlRun = kubectlRunner({ kubectl, kubeconfig, directory });
    const { caPem, authority, egressSocket } = files;
    const paths = { directory, kubeconfig, kubectl, binDir, egressSocket };
    return { ...started, ...paths, caPem, authority, kubectlRun, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Started = Pick<ControlPlane, 'url' | 'etcd' | 'etcdUrl' | 'apiServer' | 'controllerManager' | 'scheduler'>;

/** Starts the servers and adds each to `servers` as soon as it runs, so that a failure can stop them. */
async function startServers(context: ServerContext, servers: ServerProcess[], minimal: boolean): Promise<Started> {
  const running = <S extends ServerProcess>(server: S): S => {
    servers.push(server);
    return server;
  };
  const etcd = await startEtcd(context);
  running(etcd.server);
  const api = await startApiServer(context, etcd.url);
  running(api.server);
  const base = { url: api.url, etcd: etcd.server, etcdUrl: etcd.url, apiServer: api.server };
  if (minimal) {
    await waitForObjects(context, api, ['/api/v1/namespaces/default']);
    return { ...base, controllerManager: undefined, scheduler: undefined };
  }
  const controllerManager = running(await startControllerManager(context, api.url));
  const scheduler = running(await startScheduler(context, api.url));
  const defaults = ['/api/v1/namespaces/default/serviceaccounts/default'];
  await waitForObjects(context, api, [...defaults, '/api/v1/namespaces/default/configmaps/kube-root-ca.crt']);
  return { ...base, controllerManager, scheduler };
}

async function waitForObjects({ files, signal }: ServerContext, api: Listening, paths: string[]): Promise<void> {
  const identity = { caPem: files.caPem, client: files.admin };
  const exist = async (): Promise<boolean> => {
    const answers = await Promise.all(paths.map((path) => answersOk(`${api.url}${path}`, identity)));
    return answers.every(Boolean);
  };
  if (await waitUntil(exist, { timeoutMs: objectsTimeoutMs, signal })) return;
  throw new CodedError(
    'LOCAL_SERVER_START',
    `The control plane made no ${paths.join(' and no ')} in time. The API server's last output:\n${logTail(api.server.logFile)}`,
  );
}
