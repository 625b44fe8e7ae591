import { join } from 'node:path';
import { freePort } from '../local/free-port.ts';
import type { Reaper } from '../local/reaper.ts';
import { probe } from '../local/role-process.ts';
import { ServerProcess } from '../local/server-process.ts';
import type { DemoCluster } from './demo-cluster.ts';

const API = '/apis/stored.michelangelo.api/v2';
const PAGE = `${API}/ui/`;

/**
 * The page through `kubectl proxy`, which logs in for the browser. Every user of this machine can reach it, so it lets
 * through nothing but reads of stored objects.
 */
export async function startPage(
  { directory, kubeconfig, kubectl }: DemoCluster['access'],
  reaper: Reaper,
): Promise<{ readonly server: ServerProcess; readonly address: string }> {
  const port = await freePort();
  const server = new ServerProcess({
    name: 'kubectl-proxy',
    command: kubectl,
    args: [
      ...['proxy', `--kubeconfig=${kubeconfig}`, `--port=${port}`],
      ...[`--accept-paths=^${API.replaceAll('.', '\\.')}/`, '--reject-methods=^(POST|PUT|PATCH|DELETE)$'],
    ],
    directory,
    logFile: join(directory, 'kubectl-proxy.log'),
    reaper,
    ready: async () => (await probe(port, PAGE)).status === 200,
  });
  await server.start();
  return { server, address: `http://127.0.0.1:${port}${PAGE}#/models` };
}
