import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { briefProgram } from '../../hack/local/kubectl.ts';
import type { LocalImage } from '../../hack/local/node/image-table.ts';
import { startPodBundle, startPodCluster } from '../../hack/local/pod-bundle.ts';
import { type CommandResult, runCommand } from '../../hack/local/run-command.ts';
import { commandClient } from '../../src/app/kube-client.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import type { KubeClient } from '../../src/kube/client.ts';

/** The bundle as it is installed in a cluster, whatever cluster that is. */
export interface Installed {
  /** Fails with its output where it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  tryKubectl(...args: readonly string[]): Promise<CommandResult>;
  apply(manifest: object): Promise<void>;
  /** Commands as the docs have them, in that folder; kubectl is on their path. Fails with their output. */
  shell(commands: string, folder: string): Promise<void>;
  /** Program that renders. */
  readonly kubectlPath: string;
  /** Rows as objects. */
  query(sql: string, parameters?: readonly string[]): Promise<readonly Record<string, unknown>[]>;
  /** Administrator, without the cost of a process for each call. */
  readonly client: KubeClient;
  /** Folder of the overlay that is installed. */
  readonly overlay: string;
  readonly kubeconfig: string;
  /** What a command of the program needs to know of API server and MySQL. */
  readonly settings: Readonly<Record<string, string>>;
  /** What the bundle's accounts have asked the API server, one JSON object a line; undefined on a cluster of others. */
  readonly auditLog: (() => string) | undefined;
}

interface Access {
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Where kubectl is looked for. */
  readonly path: string;
  readonly overlay: string;
  readonly database: Database;
  readonly auditLog: (() => string) | undefined;
  readonly run: (args: readonly string[], input?: string) => Promise<CommandResult>;
  readonly query: (sql: string, parameters: readonly string[]) => Promise<readonly Record<string, unknown>[]>;
  readonly stop: () => Promise<void>;
}

interface Database {
  readonly host: string;
  readonly port: string;
  readonly name: string;
  readonly user: string;
  readonly password: string;
}

/** A cluster on process nodes that has all that the bundle needs, and nothing of it. */
export function useEmptyCluster(): () => Installed {
  return useAccess(() => onProcessNode(startPodCluster, []));
}

/** That of E2E_KUBECONFIG and E2E_MYSQL_URL, or else one on process nodes, for the tests of one file. */
export function useInstalled(images: readonly LocalImage[] = []): () => Installed {
  return useAccess(() => {
    const { E2E_KUBECONFIG: kubeconfig, E2E_MYSQL_URL: url } = process.env;
    if (kubeconfig === undefined) return onProcessNode(startPodBundle, images);
    if (url === undefined) throw new CodedError('TEST_SETUP', 'E2E_KUBECONFIG also needs E2E_MYSQL_URL');
    return onCluster(kubeconfig, url);
  });
}

function useAccess(start: () => Promise<Access>): () => Installed {
  let access: Access | undefined;
  let client: KubeClient | undefined;
  before(async () => {
    access = await start();
    client = clientOf(access.kubeconfig);
  });
  after(async () => {
    await client?.close();
    await access?.stop();
  });
  return () => {
    if (access === undefined || client === undefined)
      throw new CodedError('TEST_SETUP', 'the bundle is there only while tests run');
    return installedAt(access, client);
  };
}

function clientOf(kubeconfig: string): KubeClient {
  const env = { INGESTER_KUBERNETES_KUBECONFIG: kubeconfig };
  return commandClient(loadConfiguration({ file: undefined, env }), systemClock);
}

function installedAt({ run, query, overlay, auditLog, ...access }: Access, client: KubeClient): Installed {
  const demanded = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input);
    if (code === 0) return stdout;
    throw new CodedError('TEST_KUBECTL', `kubectl ${args.join(' ')} failed: ${stderr.trim()}`);
  };
  return {
    kubectl: (...args) => demanded(args),
    tryKubectl: (...args) => run(args),
    apply: async (manifest) => {
      await demanded(['apply', '-f', '-'], JSON.stringify(manifest));
    },
    shell: async (commands, folder) => {
      const env = { ...process.env, ...briefProgram, PATH: access.path, KUBECONFIG: access.kubeconfig, KUBERC: 'off' };
      const { code, stdout, stderr } = await runCommand('bash', ['-euc', commands], { cwd: folder, env });
      if (code !== 0) throw new CodedError('TEST_SHELL', `${commands}: ${stdout}${stderr.trim()}`);
    },
    query: (sql, parameters = []) => query(sql, parameters),
    settings: settingsFor(access),
    ...{ client, overlay, auditLog, kubectlPath: access.kubectlPath, kubeconfig: access.kubeconfig },
  };
}

function settingsFor({ kubeconfig, database }: Pick<Access, 'kubeconfig' | 'database'>): Installed['settings'] {
  return {
    INGESTER_KUBERNETES_KUBECONFIG: kubeconfig,
    INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
    ...{ INGESTER_MYSQL_HOST: database.host, INGESTER_MYSQL_PORT: database.port },
    ...{ INGESTER_MYSQL_DATABASE: database.name, INGESTER_MYSQL_USER: database.user },
    INGESTER_MYSQL_PASSWORD: database.password,
  };
}

async function onProcessNode(start: typeof startPodCluster, images: readonly LocalImage[]): Promise<Access> {
  const auditedGroup = 'system:serviceaccounts:ingester-system';
  const bundle = await start({ progress: () => undefined, images, auditedGroup });
  const { host, port } = bundle.databaseLink;
  const { name, writer } = bundle.database;
  const { kubeconfig, kubectl: kubectlPath, directory } = bundle.controlPlane;
  const [auditLog, bin] = [join(directory, 'audit.log'), join(directory, 'bin')];
  mkdirSync(bin);
  symlinkSync(kubectlPath, join(bin, 'kubectl'));
  return {
    ...{ kubeconfig, kubectlPath, path: `${bin}:${process.env['PATH'] ?? ''}` },
    overlay: 'config/overlays/process-node',
    database: { host, port: String(port), name, ...writer },
    auditLog: () => readFileSync(auditLog, 'utf8'),
    run: (args, input) =>
      bundle.controlPlane.kubectlRun(args, { allowFailure: true, ...(input === undefined ? {} : { input }) }),
    query: (sql, parameters) => bundle.database.query(sql, parameters),
    stop: () => bundle.stop(),
  };
}

async function onCluster(kubeconfig: string, url: string): Promise<Access> {
  // Read early, so that a wrong path is not mistaken for an empty cluster.
  readFileSync(kubeconfig);
  const { hostname, port, pathname, username, password } = new URL(url);
  const connection = await createConnection({ uri: url, dateStrings: true, charset: 'utf8mb4_bin' });
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return {
    ...{ kubeconfig, kubectlPath: 'kubectl', path: process.env['PATH'] ?? '' },
    overlay: process.env['E2E_OVERLAY'] ?? 'config/overlays/kind',
    database: { host: hostname, port, name: pathname.slice(1), user: username, password },
    auditLog: undefined,
    run: (args, input) => runCommand('kubectl', args, { env, ...(input === undefined ? {} : { input }) }),
    query: async (sql, parameters) => (await connection.query<RowDataPacket[]>(sql, [...parameters]))[0],
    stop: () => connection.end(),
  };
}
