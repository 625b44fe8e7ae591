import { constants, cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Certificate } from './certificates.ts';
import type { ControlPlaneFiles } from './control-plane-files.ts';
import { serviceRange, writeSecret } from './control-plane-files.ts';
import { freePort } from './free-port.ts';
import { answersOk } from './https-probe.ts';
import { kubeconfigText } from './kubeconfig.ts';
import type { Reaper } from './reaper.ts';
import { runCommand } from './run-command.ts';
import { ServerProcess, ServerStartError } from './server-process.ts';

const portAttempts = 5;

/**
 * A server's garbage before it is collected, as a share of what it keeps. With the usual 100 the API server spends a sixth
 * of its time on that; here it shares two processors with everything else, and there is memory enough.
 */
const GARBAGE_PERCENT = '400';
/** Above this much memory a server collects more often instead: gigabytes of large objects are kept by the API server. */
const MEMORY_LIMIT = '6GiB';
/** What etcd allows at most, and enough for thousands of its largest objects. It is a limit and takes nothing. */
const ETCD_QUOTA_BYTES = 8 * 1024 ** 3;

/** What the servers of one control plane have in common. */
export interface ServerContext {
  readonly binDir: string;
  readonly files: ControlPlaneFiles;
  readonly reaper: Reaper;
  readonly signal: AbortSignal | undefined;
  /** Data directory that etcd begins with a copy of; an empty one unless given. */
  readonly template?: string | undefined;
  /** Group of users whose calls the API server writes down. */
  readonly auditedGroup?: string | undefined;
  readonly featureGates?: string | undefined;
  readonly watchCache?: 'off' | undefined;
  /** What the API server shows to the webhooks it calls. */
  readonly webhookClient?: Certificate | undefined;
  /** See ControlPlaneOptions. */
  readonly tracesTo?: string | undefined;
}

export interface Listening {
  readonly server: ServerProcess;
  readonly url: string;
}

export function etcdData(directory: string): string {
  return join(directory, 'etcd');
}

export function startEtcd(context: ServerContext): Promise<Listening> {
  const { path, directory, etcdCaPem, etcdClient } = context.files;
  const data = etcdData(directory);
  if (context.template !== undefined)
    cpSync(context.template, data, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return startOnFreePort(context, (url) => ({
    name: 'etcd',
    args: [
      '--name=local',
      `--data-dir=${data}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      // No peer joins this etcd, so its peer port may be any; it is closed to other clients all the same.
      '--listen-peer-urls=https://127.0.0.1:0',
      '--initial-advertise-peer-urls=https://127.0.0.1:0',
      '--initial-cluster=local=https://127.0.0.1:0',
      '--peer-client-cert-auth',
      `--peer-trusted-ca-file=${path('etcd-ca.crt')}`,
      `--peer-cert-file=${path('etcd.crt')}`,
      `--peer-key-file=${path('etcd.key')}`,
      '--client-cert-auth',
      `--trusted-ca-file=${path('etcd-ca.crt')}`,
      `--cert-file=${path('etcd.crt')}`,
      `--key-file=${path('etcd.key')}`,
      '--auto-compaction-mode=periodic',
      '--auto-compaction-retention=10m',
      `--quota-backend-bytes=${ETCD_QUOTA_BYTES}`,
      '--log-level=warn',
    ],
    ready: () => answersOk(`${url}/readyz`, { caPem: etcdCaPem, client: etcdClient }),
  }));
}

export async function startApiServer(context: ServerContext, etcdUrl: string): Promise<Listening> {
  const { path, caPem, admin } = context.files;
  const optional = [
    ...auditFlags(context),
    ...(context.featureGates === undefined ? [] : [`--feature-gates=${context.featureGates}`]),
    ...(context.watchCache === 'off' ? ['--watch-cache=false'] : []),
    ...webhookClientFlags(context),
    ...tracingFlags(context),
    ...(await uidHeaderFlags(context)),
  ];
  return startOnFreePort(context, (url) => ({
    name: 'kube-apiserver',
    args: [
      '--bind-address=127.0.0.1',
      `--secure-port=${new URL(url).port}`,
      '--advertise-address=127.0.0.1',
      // The endpoint of the service "kubernetes" may not be a loopback address, and nothing here would use it.
      '--endpoint-reconciler-type=none',
      `--etcd-servers=${etcdUrl}`,
      `--etcd-cafile=${path('etcd-ca.crt')}`,
      `--etcd-certfile=${path('etcd-client.crt')}`,
      `--etcd-keyfile=${path('etcd-client.key')}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--egress-selector-config-file=${path('egress.json')}`,
      '--kubelet-preferred-address-types=InternalIP',
      `--kubelet-certificate-authority=${path('ca.crt')}`,
      `--kubelet-client-certificate=${path('kubelet-client.crt')}`,
      `--kubelet-client-key=${path('kubelet-client.key')}`,
      `--client-ca-file=${path('ca.crt')}`,
      ...frontProxyFlags(path),
      `--tls-cert-file=${path('kube-apiserver.crt')}`,
      `--tls-private-key-file=${path('kube-apiserver.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${path('service-accounts.pub')}`,
      `--service-account-signing-key-file=${path('service-accounts.key')}`,
      `--service-cluster-ip-range=${serviceRange}`,
      '--allow-privileged=true',
      // Otherwise it waits a minute for clients to end their watches before it ends itself.
      '--shutdown-watch-termination-grace-period=1s',
      ...optional,
    ],
    ready: () => answersOk(`${url}/readyz`, { caPem, client: admin }),
  }));
}

/** Every call of the group, as a line of JSON without bodies, in `audit.log`. */
function auditFlags({ files, auditedGroup }: ServerContext): readonly string[] {
  if (auditedGroup === undefined) return [];
  const policy = files.path('audit-policy.json');
  const rules = [{ level: 'Metadata', userGroups: [auditedGroup] }, { level: 'None' }];
  writeSecret(
    policy,
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules }),
  );
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${join(files.directory, 'audit.log')}`,
    '--audit-log-mode=blocking',
  ];
}

/** As docs/admission.md has it, but for the name of the user: the webhooks of tests have no Service. */
function webhookClientFlags({ files, webhookClient: certificate }: ServerContext): readonly string[] {
  if (certificate === undefined) return [];
  const [kubeConfigFile, admission] = [files.path('webhooks.kubeconfig'), files.path('admission.json')];
  writeSecret(kubeConfigFile, kubeconfigText({ url: '', caPem: files.caPem, user: { name: '*', certificate } }));
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile,
  };
  const plugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].map((name) => ({ name, configuration }));
  writeSecret(
    admission,
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration', plugins }),
  );
  return [`--admission-control-config-file=${admission}`];
}

function tracingFlags({ files, tracesTo: endpoint }: ServerContext): readonly string[] {
  if (endpoint === undefined) return [];
  const file = files.path('tracing.json');
  const apiVersion = 'apiserver.config.k8s.io/v1beta1';
  writeSecret(
    file,
    JSON.stringify({ apiVersion, kind: 'TracingConfiguration', endpoint, samplingRatePerMillion: 1e6 }),
  );
  return [`--tracing-config-file=${file}`];
}

/** How the API server shows aggregated APIs that it is itself, and on whose behalf it asks. */
function frontProxyFlags(path: (name: string) => string): readonly string[] {
  return [
    `--requestheader-client-ca-file=${path('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${path('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${path('front-proxy-client.key')}`,
  ];
}

/** The flag came with Kubernetes 1.32. */
async function uidHeaderFlags({ binDir }: ServerContext): Promise<readonly string[]> {
  // The folder of programs that were built here begins with their version.
  const named = basename(binDir);
  const version = /^v1\.\d+\./.test(named)
    ? named
    : (await runCommand(join(binDir, 'kube-apiserver'), ['--version'])).stdout;
  return /v1\.(?:30|31)\./.test(version) ? [] : ['--requestheader-uid-headers=X-Remote-Uid'];
}

export function startControllerManager(context: ServerContext, url: string): Promise<ServerProcess> {
  const { path, controllerManager } = context.files;
  const user = { name: 'system:kube-controller-manager', certificate: controllerManager };
  return startClient(context, url, user, [
    '--use-service-account-credentials=true',
    // The usual limits spread the first seconds of work over many.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    `--service-account-private-key-file=${path('service-accounts.key')}`,
    `--root-ca-file=${path('ca.crt')}`,
    `--service-cluster-ip-range=${serviceRange}`,
  ]);
}

export function startScheduler(context: ServerContext, url: string): Promise<ServerProcess> {
  return startClient(context, url, { name: 'system:kube-scheduler', certificate: context.files.scheduler }, []);
}

interface Identity {
  readonly name: string;
  readonly certificate: Certificate;
}

/** A server that only talks to the API server: it serves nothing itself and runs alone, without leader election. */
async function startClient(
  context: ServerContext,
  url: string,
  user: Identity,
  args: readonly string[],
): Promise<ServerProcess> {
  const name = user.name.replace('system:', '');
  const kubeconfig = context.files.path(`${name}.kubeconfig`);
  writeSecret(kubeconfig, kubeconfigText({ url, caPem: context.files.caPem, user }));
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
  const server = serverOf(context, { name, args: [...common, ...args], ready: () => true });
  await server.start(context.signal);
  return server;
}

interface ServerPlan {
  readonly name: string;
  readonly args: readonly string[];
  readonly ready: () => boolean | Promise<boolean>;
}

async function startOnFreePort(context: ServerContext, plan: (url: string) => ServerPlan): Promise<Listening> {
  for (let attempt = 1; ; attempt += 1) {
    const url = `https://127.0.0.1:${await freePort()}`;
    const server = serverOf(context, plan(url));
    try {
      await server.start(context.signal);
      return { server, url };
    } catch (error) {
      const stolen = error instanceof ServerStartError && error.portTaken;
      if (!stolen || attempt === portAttempts) throw error;
    }
  }
}

function serverOf({ binDir, files, reaper }: ServerContext, { name, args, ready }: ServerPlan): ServerProcess {
  const { directory } = files;
  return new ServerProcess({
    name,
    command: join(binDir, name),
    args,
    ready,
    directory,
    // Nothing of the user's: etcd, for one, takes every option from the environment too.
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      TMPDIR: directory,
      TZ: 'UTC',
      GOGC: GARBAGE_PERCENT,
      GOMEMLIMIT: MEMORY_LIMIT,
    },
    logFile: join(directory, `${name}.log`),
    reaper,
  });
}
