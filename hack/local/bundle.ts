// The whole bundle on this machine: control plane, MySQL, and the program's roles as processes under the service
// accounts and the RBAC that the manifests ship.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import type { TableNames } from '../../src/kinds/kind-names.ts';
import {
  type BundleServers,
  type BundleServersOptions,
  startBundleServers,
  stepper,
  type UndoStack,
  withUndo,
} from './bundle-servers.ts';
import { freePort } from './free-port.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { programFile } from './program.ts';
import { progressOnStderr, withElapsedTime } from './progress.ts';
import { type Reaper, startReaper } from './reaper.ts';
import { createRole, type RoleOptions } from './role-process.ts';
import { runCommand } from './run-command.ts';
import type { ServerProcess } from './server-process.ts';
import { applyManifests, type LocalWebhook, startWebhook } from './webhook-process.ts';

const NAMESPACE = 'ingester-system';
/** Of its process and its files. */
const RECONCILER = 'reconciler';
/** The demo stays up as long as a working day. */
const TOKEN_DURATION = '24h';

export interface Bundle extends BundleServers {
  readonly directory: string;
  readonly webhook: ServerProcess;
  readonly webhookHealthPort: number;
  readonly reconciler: ServerProcess;
  readonly reconcilerHealthPort: number;
  /** Sections of a configuration that tell a role of the database. */
  readonly databaseSections: Readonly<Record<string, object>>;
  /** Another reconciler beside the first, not started yet, and what its environment has beside that of the first. */
  createReplica(
    name: string,
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly process: ServerProcess; readonly healthPort: number }>;
  stop(): Promise<void>;
}

export interface BundleOptions extends BundleServersOptions {
  /** Merged over the reconciler's configuration, section by section. */
  readonly configuration?: Readonly<Record<string, object>>;
  /** Sections of the webhook's configuration. */
  readonly webhookConfiguration?: Readonly<Record<string, object>>;
  /** Over the environment of the webhook. */
  readonly webhookEnv?: Readonly<Record<string, string>>;
  /** `lowercase` unless given. */
  readonly tableNames?: TableNames;
  /** Tells the webhook of the database, so that it can see what is archived. */
  readonly webhookSeesDatabase?: boolean;
  /** Leaves the defaults of the product as they are, instead of settings for short tests. */
  readonly shippedSettings?: boolean;
  /** The program that the reconciler runs, and its environment; that of this checkout unless given. */
  readonly reconcilerProgram?: Partial<Pick<RoleOptions, 'main' | 'env' | 'readyPath'>>;
  /** Installs the CRDs of the kinds, in place of the component crds. */
  readonly installCrds?: (servers: BundleServers) => Promise<unknown>;
  /** Leaves the reconciler for the caller to start. */
  readonly startReconciler?: boolean;
}

export function startBundle(options: BundleOptions = {}): Promise<Bundle> {
  return withUndo((stack) => start(options, stack));
}

async function start(options: BundleOptions, stack: UndoStack): Promise<Bundle> {
  const step = stepper(options);
  const directory = mkdtempSync(join(tmpdir(), 'ingester-bundle-'));
  const reaper = startReaper(directory);
  stack.add(async () => {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  const { configuration = {}, reconcilerProgram = {}, tableNames = 'lowercase' } = options;
  const servers = await startBundleServers(options, stack, ({ server, database }) => {
    step('creating the tables: ingester task migrate');
    return migrate({ directory, server, database, tableNames });
  });
  const { controlPlane } = servers;
  const settings = options.shippedSettings === true ? {} : { requeuePeriod: '2s', concurrentReconciles: 2 };
  const context: Context = { ...servers, directory, reaper, configuration, settings, reconcilerProgram, tableNames };
  const createReplica: Bundle['createReplica'] = async (name, env = {}) => {
    const replica = await createReconciler(context, name, env);
    stack.add(() => replica.process.stop());
    return replica;
  };
  // The webhook reads its configuration.
  const { process: reconciler, healthPort } = await createReplica(RECONCILER);
  step('starting the webhook: ingester webhook');
  const { process: webhook, healthPort: webhookHealthPort } = await startBundleWebhook(context, options);
  stack.add(() => webhook.stop());
  if (options.installCrds !== undefined) {
    const overlay = join(directory, 'config/overlays/local/kustomization.yaml');
    writeFileSync(overlay, readFileSync(overlay, 'utf8').replace(/^ +- .*components\/crds\n/m, ''));
    await options.installCrds(servers);
  }
  const applying = 'applying the bundle: kubectl apply -k config/overlays/local';
  step(applying);
  const apply = (): Promise<void> => applyManifests(controlPlane, join(directory, 'config/overlays/local'));
  await withElapsedTime(options.progress ?? progressOnStderr, () => applying, apply);
  await writeKubeconfig(context, 'ingester-webhook');
  await writeKubeconfig(context, 'ingester-reconciler');
  if (options.startReconciler !== false) {
    step('starting the reconciler under its service account: ingester reconciler');
    await reconciler.start(options.signal);
  }
  return {
    ...servers,
    directory,
    webhook,
    webhookHealthPort,
    reconciler,
    reconcilerHealthPort: healthPort,
    databaseSections: databaseSections(context),
    createReplica,
    stop: () => stack.unwind(),
  };
}

interface Context extends BundleServers {
  readonly directory: string;
  readonly reaper: Reaper;
  readonly configuration: Readonly<Record<string, object>>;
  /** Of the section `ingester`, under what the configuration says. */
  readonly settings: object;
  readonly reconcilerProgram: Partial<Pick<RoleOptions, 'main' | 'env' | 'readyPath'>>;
  readonly tableNames: TableNames;
}

type Migrated = Pick<Context, 'directory' | 'server' | 'database' | 'tableNames'>;

async function migrate({ directory, server, database, tableNames }: Migrated): Promise<void> {
  const { user, password } = database.migrator;
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: undefined,
    INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
    INGESTER_METADATA_STORAGE_TABLE_NAMES: tableNames,
    INGESTER_MYSQL_HOST: server.host,
    INGESTER_MYSQL_PORT: String(server.port),
    INGESTER_MYSQL_USER: user,
    INGESTER_MYSQL_PASSWORD: password,
    INGESTER_MYSQL_DATABASE: database.name,
  };
  const args = [programFile('main'), 'task', 'migrate'];
  const { code, stderr } = await runCommand(process.execPath, args, { cwd: directory, env });
  if (code !== 0) throw new CodedError('LOCAL_MIGRATE', `ingester task migrate failed:\n${stderr}`);
}

interface Reconciler {
  readonly process: ServerProcess;
  readonly healthPort: number;
}

/** A kubeconfig of a role's service account, so that the shipped RBAC is what it runs under. */
async function writeKubeconfig({ controlPlane, directory, kubectl }: Context, account: string): Promise<void> {
  const tokenArgs = ['create', 'token', account, '-n', NAMESPACE, `--duration=${TOKEN_DURATION}`];
  const token = (await kubectl(...tokenArgs)).trim();
  const { url, caPem } = controlPlane;
  const text = kubeconfigText({ url, caPem, user: { name: account, token } });
  writeFileSync(kubeconfigPath(directory, account), text, { mode: 0o600 });
}

function kubeconfigPath(directory: string, account: string): string {
  return join(directory, `${account}.kubeconfig`);
}

async function startBundleWebhook(context: Context, options: BundleOptions): Promise<LocalWebhook> {
  const { directory, reaper } = context;
  const configuration = {
    // Written once the service account exists; nothing is asked before.
    kubernetes: { kubeconfig: kubeconfigPath(directory, 'ingester-webhook') },
    ...(options.webhookSeesDatabase === true ? databaseSections(context) : {}),
    ...options.webhookConfiguration,
  };
  const settings = { reconcilerConfig: join(directory, `${RECONCILER}.yaml`) };
  const { webhookEnv: env = {} } = options;
  return startWebhook({ directory, reaper, configuration, settings, env });
}

function databaseSections({ database, databaseLink, tableNames }: Context): Readonly<Record<string, object>> {
  const { host, port } = databaseLink;
  return {
    metadataStorage: { enableMetadataStorage: true, tableNames },
    mysql: { host, port, database: database.name, ...database.writer },
  };
}

/** Not started yet. Every replica has the same configuration and a name of its own. */
async function createReconciler(
  context: Context,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<Reconciler> {
  const { directory, reaper, settings } = context;
  const program = { ...context.reconcilerProgram, env: { ...context.reconcilerProgram.env, ...env } };
  const { ingester, ...more } = context.configuration;
  const healthPort = await freePort();
  const configuration = {
    ...databaseSections(context),
    ingester: { ...settings, ...ingester },
    kubernetes: { kubeconfig: kubeconfigPath(directory, 'ingester-reconciler') },
    ...more,
  };
  const process = createRole({ role: 'reconciler', name, ...program, directory, configuration, healthPort, reaper });
  return { process, healthPort };
}
