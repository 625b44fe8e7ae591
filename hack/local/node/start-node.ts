// Starts a process node beside a local control plane, in a process of its own that can be killed and started again.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControlPlane } from '../control-plane.ts';
import { kubeconfigText } from '../kubeconfig.ts';
import { onlyOnce } from '../only-once.ts';
import { startReaper } from '../reaper.ts';
import { ServerProcess } from '../server-process.ts';
import { type NodeConfiguration, type NodeTimings, usualTimings } from './configuration.ts';
import { endPod } from './end-pods.ts';
import type { LocalImage } from './image-table.ts';

const program = join(import.meta.dirname, 'main.ts');

/** Documentation ranges (RFC 5737), one for each node of a cluster. */
const addressPrefixes = ['192.0.2', '198.51.100', '203.0.113'] as const;

export interface ProcessNodeOptions {
  readonly name?: string;
  /** Which node of the cluster it is, from 0; gives it addresses of its own. */
  readonly index?: 0 | 1 | 2;
  readonly images: readonly LocalImage[];
  readonly timings?: Partial<NodeTimings>;
  readonly capacity?: Partial<NodeConfiguration['capacity']>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly mounts?: NodeConfiguration['mounts'];
  readonly signal?: AbortSignal;
}

export interface ProcessNode {
  readonly name: string;
  /** Killing it leaves the pods running; starting it again finds them. */
  readonly process: ServerProcess;
  /** What the node knows, and the folders of its pods: `pods/<uid>`. */
  readonly stateDirectory: string;
  /** Ends the node and every pod on it. Calling it again is harmless. */
  stop(): Promise<void>;
}

// Nothing enforces it, so it need not be what the machine has.
const usualCapacity = { cpu: '16', memory: '32Gi', pods: '200' };

export async function startProcessNode(controlPlane: ControlPlane, options: ProcessNodeOptions): Promise<ProcessNode> {
  const { index = 0, name = `process-node-${index}` } = options;
  const stateDirectory = mkdtempSync(join(tmpdir(), 'process-node-'));
  const reaper = startReaper(stateDirectory);
  const file = join(stateDirectory, 'configuration.json');
  writeFileSync(
    file,
    JSON.stringify(await configurationOf(controlPlane, { ...options, index, name, stateDirectory })),
    {
      mode: 0o600,
    },
  );
  mkdirSync(join(stateDirectory, 'pods'));
  const node: ServerProcess = new ServerProcess({
    name,
    command: process.execPath,
    args: [program, file],
    directory: stateDirectory,
    // Its own, not that of its pods: sources that were compiled before start in half the processor time.
    env: {
      PATH: process.env['PATH'],
      HOME: stateDirectory,
      TZ: 'UTC',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
    logFile: join(stateDirectory, 'node.log'),
    reaper,
    ready: (): boolean => beatenBy(stateDirectory) === node.pid,
  });
  const stop = onlyOnce(async () => {
    await node.stop();
    const pods = join(stateDirectory, 'pods');
    await Promise.all(readdirSync(pods).map((uid) => endPod(join(pods, uid))));
    rmSync(stateDirectory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  try {
    await node.start(options.signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name, process: node, stateDirectory, stop };
}

/** The process whose heartbeat was the last; undefined before the first. */
function beatenBy(stateDirectory: string): number | undefined {
  const file = join(stateDirectory, 'heartbeat');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
}

async function configurationOf(
  { authority, caPem, url }: ControlPlane,
  options: ProcessNodeOptions & { readonly name: string; readonly index: 0 | 1 | 2; readonly stateDirectory: string },
): Promise<NodeConfiguration> {
  const { name, index, stateDirectory, images, timings, capacity, labels = {}, mounts = 'private' } = options;
  const addressPrefix = addressPrefixes[index];
  const user = `system:node:${name}`;
  const [client, serving] = await Promise.all([
    authority.issue({ commonName: user, organizations: ['system:nodes'] }),
    authority.issue({ commonName: user, hosts: [`${addressPrefix}.1`] }),
  ]);
  const kubeconfig = join(stateDirectory, 'node.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText({ url, caPem, user: { name: user, certificate: client } }), { mode: 0o600 });
  const { hostname, port } = new URL(url);
  return {
    ...{ name, kubeconfig, stateDirectory, addressPrefix, images, labels, mounts },
    serving: { ...serving, clientCaPem: caPem },
    apiServer: { host: hostname, port: Number(port) },
    capacity: { ...usualCapacity, ...capacity },
    timings: { ...usualTimings, ...timings },
  };
}
