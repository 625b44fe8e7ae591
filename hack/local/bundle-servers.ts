// The servers that the bundle needs, whether its roles run as processes or as pods.
import { type BundleDatabase, createBundleDatabase } from './bundle-database.ts';
import type { Authority } from './certificates.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { type DatabaseServer, startDatabase } from './mysql.ts';
import { type Progress, progressOnStderr } from './progress.ts';
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

export interface BundleServersOptions {
  readonly progress?: Progress;
  readonly flavour?: 'mysql' | 'mariadb';
  readonly signal?: AbortSignal;
  /** See DatabaseOptions. */
  readonly databaseAuthority?: Authority;
  /** See ControlPlaneOptions. */
  readonly auditedGroup?: string;
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

export async function startBundleServers(options: BundleServersOptions, stack: UndoStack): Promise<BundleServers> {
  const { progress = progressOnStderr, flavour = 'mysql', signal } = options;
  const interruptible = signal === undefined ? {} : { signal };
  const audited = options.auditedGroup === undefined ? {} : { auditedGroup: options.auditedGroup };
  const step = stepper(options);
  step('starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler');
  const controlPlane = await startControlPlane({ progress, ...interruptible, ...audited });
  stack.add(() => controlPlane.stop());
  step(`starting ${flavour}`);
  const tls = options.databaseAuthority === undefined ? {} : { authority: options.databaseAuthority };
  const server = await startDatabase({ flavour, progress, ...interruptible, ...tls });
  stack.add(() => server.dispose());
  const database = await createBundleDatabase(server);
  if (server.external) stack.add(() => database.drop());
  const databaseLink = await startTcpProxy(server);
  stack.add(() => databaseLink.close());
  const kubectl = async (...args: readonly string[]): Promise<string> => (await controlPlane.kubectlRun(args)).stdout;
  return { controlPlane, server, database, databaseLink, kubectl };
}
