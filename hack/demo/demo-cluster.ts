// What the demo runs on, as the story and the reader need it: servers of this machine with pods as processes.
import type { ControlPlane } from '../local/control-plane.ts';
import { startPodBundle } from '../local/pod-bundle.ts';
import type { ServerProcess } from '../local/server-process.ts';

export interface DemoMysql {
  /** e.g. `mysql 9.7.0`. */
  readonly title: string;
  readonly running: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Rows as objects, of the database of the bundle. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface DemoCluster {
  /** For an administrator. */
  readonly access: Pick<ControlPlane, 'directory' | 'kubeconfig' | 'kubectl' | 'kubectlRun'>;
  readonly mysql: DemoMysql;
  /** Their death ends the demo. */
  readonly servers: readonly ServerProcess[];
  stop(): Promise<void>;
}

export interface DemoClusterOptions {
  readonly progress: (message: string) => void;
  readonly signal: AbortSignal;
}

/** With the query API. */
export async function startProcesses(options: DemoClusterOptions): Promise<DemoCluster> {
  const bundle = await startPodBundle({ ...options, overlay: 'process-node-query' });
  const { server, database, controlPlane, servers } = bundle;
  const mysql: DemoMysql = {
    title: `${server.flavour} ${server.version}`,
    get running() {
      return server.process?.running ?? true;
    },
    stop: () => server.stop(),
    start: () => server.start(),
    query: (sql) => database.query(sql),
  };
  return { access: controlPlane, mysql, servers, stop: () => bundle.stop() };
}
