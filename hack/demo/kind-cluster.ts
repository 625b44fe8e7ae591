// The demo in containers: a kind cluster of its own, made and deleted by the scripts that "npm run kind" uses.
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { CodedError } from '../../src/base/errors.ts';
import { withUndo } from '../local/bundle-servers.ts';
import { freePort } from '../local/free-port.ts';
import { kubectlRunner } from '../local/kubectl.ts';
import { startReaper } from '../local/reaper.ts';
import { type CommandOptions, runCommand } from '../local/run-command.ts';
import { ServerProcess, type ServerSpec } from '../local/server-process.ts';
import type { DemoCluster, DemoClusterOptions, DemoMysql } from './demo-cluster.ts';

const root = join(import.meta.dirname, '../..');
const state = join(root, '.local/kind-demo');
const OVERLAY = 'config/overlays/kind-query';
const MYSQL = 'statefulset/mysql';
const WAIT = '--timeout=180s';

/** With the query API. Fails with what the scripts say, where a program or the Docker daemon is missing. */
export function startKind({ progress, signal }: DemoClusterOptions): Promise<DemoCluster> {
  return withUndo(async (stack) => {
    const directory = mkdtempSync(join(tmpdir(), 'kind-demo-'));
    stack.add(() => rm(directory, { recursive: true, force: true }));
    const reaper = startReaper(directory);
    stack.add(() => reaper.dismiss());
    stack.add(() => script('down', progress));
    await script('up', progress, { reaper, signal });
    const [kubeconfig, kubectl] = [join(state, 'kubeconfig'), await kubectlPath()];
    const access = { directory, kubeconfig, kubectl, kubectlRun: kubectlRunner({ kubectl, kubeconfig, directory }) };
    await access.kubectlRun(['wait', 'apiservice/v2.stored.michelangelo.api', '--for=condition=Available', WAIT]);
    const port = await freePort();
    const query = queryAt(port);
    const forward = forwardTo(access, { port, reaper, ready: () => answers(query) });
    await forward.start(signal);
    stack.add(() => forward.stop());
    return { access, mysql: await mysqlOf(access, forward, query), servers: [], stop: () => stack.unwind() };
  });
}

/** Passes on what a script says of its steps. */
async function script(
  name: 'up' | 'down',
  progress: (message: string) => void,
  options: Pick<CommandOptions, 'reaper' | 'signal'> = {},
): Promise<void> {
  const onStderr = (text: string): void => {
    for (const [, step = ''] of text.matchAll(/^==> (.+)$/gm)) progress(step);
  };
  const env = { ...process.env, KIND_CLUSTER: 'ingester-demo', KIND_STATE: state, E2E_OVERLAY: OVERLAY };
  const result = await runCommand(join(root, 'hack/kind', name), [], { cwd: root, env, onStderr, ...options });
  options.signal?.throwIfAborted();
  if (result.code === 0) return;
  const last = result.stderr.trim().split('\n').slice(-3).join('\n');
  throw new CodedError('DEMO_KIND', `hack/kind/${name} failed: ${last}`);
}

/** That of PATH, or else the one of the node image. */
async function kubectlPath(): Promise<string> {
  const made = join(root, '.local/kind-programs/kubectl');
  if (existsSync(made)) return made;
  return (await runCommand('sh', ['-c', 'command -v kubectl'])).stdout.trim();
}

/** It ends with the pod that it leads to. */
function forwardTo(
  { directory, kubeconfig, kubectl }: DemoCluster['access'],
  { port, ...spec }: Pick<ServerSpec, 'reaper' | 'ready'> & { readonly port: number },
): ServerProcess {
  return new ServerProcess({
    name: 'kubectl-port-forward',
    command: kubectl,
    args: ['port-forward', `--kubeconfig=${kubeconfig}`, '-n', 'mysql', 'service/mysql', `${port}:3306`],
    directory,
    logFile: join(directory, 'kubectl-port-forward.log'),
    ...spec,
  });
}

function queryAt(port: number): DemoMysql['query'] {
  return async (sql) => {
    const password = readFileSync(join(state, 'root.password'), 'utf8').trim();
    const uri = `mysql://root:${password}@127.0.0.1:${port}/michelangelo`;
    const connection = await createConnection({ uri, dateStrings: true, connectTimeout: 5000 });
    try {
      return (await connection.query<RowDataPacket[]>(sql))[0];
    } finally {
      connection.destroy();
    }
  };
}

function answers(query: DemoMysql['query']): Promise<boolean> {
  return query('SELECT 1').then(
    () => true,
    () => false,
  );
}

async function mysqlOf(
  access: DemoCluster['access'],
  forward: ServerProcess,
  query: DemoMysql['query'],
): Promise<DemoMysql> {
  const scale = (replicas: number): Promise<unknown> =>
    access.kubectlRun(['scale', '-n', 'mysql', MYSQL, `--replicas=${replicas}`]);
  const [row] = await query('SELECT VERSION() AS version');
  return {
    title: `mysql ${String(row?.['version'])}`,
    get running() {
      return forward.running;
    },
    query,
    stop: async () => {
      await scale(0);
      await access.kubectlRun(['wait', '-n', 'mysql', '--for=delete', 'pod/mysql-0', WAIT]);
      await forward.stop();
    },
    start: async () => {
      await scale(1);
      await access.kubectlRun(['rollout', 'status', '-n', 'mysql', MYSQL, WAIT]);
      await forward.start();
    },
  };
}
