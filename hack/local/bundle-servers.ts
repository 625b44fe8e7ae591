// The servers that the bundle needs, whether its roles run as processes or as pods.
import { type BundleDatabase, createBundleDatabase } from './bundle-database.ts';
import type { Authority } from './certificates.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { type DatabaseServer, startDatabase } from './mysql.ts';
import { progressOnStderr } from './progress.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface BundleServers {
  readonly controlPlane: ControlPlane;
  readonly server: DatabaseServer;
  readonly database: BundleDatabase;
  /** What the reconciler connects to instead of the server itself, so that the way can be cut. */
  readonly databaseLink: TcpProxy;
  /** Runs kubectl as administrator and fails with its output where it fails. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
}

export interface BundleServersOptions
  extends Pick<ControlPlaneOptions, 'progress' | 'signal' | 'auditedGroup' | 'tracesTo' | 'featureGates'> {
  readonly flavour?: 'mysql' | 'mariadb';
  /** In place of MySQL or MariaDB; it is disposed of with the rest. */
  readonly database?: () => Promise<Pick<BundleServers, 'server' | 'database'>>;
  /** See DatabaseOptions. */
  readonly databaseAuthority?: Authority;
}

/** Ends what was started, newest first, however far the start got. */
export class UndoStack {
  readonly #undo: (() => Promise<void>)[] = [];

  add(undo: () => Promise<void>): void {
    this.#undo.push(undo);
  }

  async unwind(): Promise<void> {
    for (const undo of this.#undo.splice(0).toReversed()) await undo();
  }
}

/** Runs `start` with a stack of what it has to undo, which is unwound when it fails. */
export async function withUndo<T>(start: (stack: UndoStack) => Promise<T>): Promise<T> {
  const stack = new UndoStack();
  try {
    return await start(stack);
  } catch (error) {
    await stack.unwind();
    throw error;
  }
}

/** Says what comes next, unless the caller has asked to stop. */
export function stepper({ progress = progressOnStderr, signal }: BundleServersOptions): (what: string) => void {
  return (what) => {
    signal?.throwIfAborted();
    progress(what);
  };
}

type Databases = Pick<BundleServers, 'server' | 'database' | 'databaseLink'>;

/** `fill` is what the database needs before anything uses it. */
export async function startBundleServers(
  options: BundleServersOptions,
  stack: UndoStack,
  fill: (databases: Databases) => Promise<void> = () => Promise.resolve(),
): Promise<BundleServers> {
  const { progress = progressOnStderr, flavour = 'mysql', signal } = options;
  const interruptible = signal === undefined ? {} : { signal };
  stepper(options)(`starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and ${flavour}`);
  const startCluster = async (): Promise<ControlPlane> => {
    const controlPlane = await startControlPlane({ ...options, progress });
    stack.add(() => controlPlane.stop());
    return controlPlane;
  };
  const startOwn = async (): Promise<Pick<BundleServers, 'server' | 'database'>> => {
    const tls = options.databaseAuthority === undefined ? {} : { authority: options.databaseAuthority };
    const server = await startDatabase({ flavour, progress, ...interruptible, ...tls });
    try {
      return { server, database: await createBundleDatabase(server) };
    } catch (error) {
      await server.dispose();
      throw error;
    }
  };
  const startDatabases = async (): Promise<Databases> => {
    const { server, database } = await (options.database ?? startOwn)();
    stack.add(() => server.dispose());
    if (server.external) stack.add(() => database.drop());
    const databaseLink = await startTcpProxy(server);
    stack.add(() => databaseLink.close());
    await fill({ server, database, databaseLink });
    return { server, database, databaseLink };
  };
  const starting = [startCluster(), startDatabases()] as const;
  // Where one fails, the other is waited for, so that it can be undone.
  await Promise.allSettled(starting);
  const [controlPlane, databases] = await Promise.all(starting);
  const kubectl = async (...args: readonly string[]): Promise<string> => (await controlPlane.kubectlRun(args)).stdout;
  return { controlPlane, ...databases, kubectl };
}
