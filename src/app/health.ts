import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** One line of /readyz: undefined means ready, text says what is missing. */
export type ReadinessCheck = () => string | undefined;

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** /healthz says the process runs, and is none that had better start anew; /readyz says, check by check, whether it can do its job; /metrics is for Prometheus. */
export async function startHealthServer(
  address: { readonly host: string; readonly port: number },
  checks: Readonly<Record<string, ReadinessCheck>>,
  registry?: Registry,
  alive: Readonly<Record<string, ReadinessCheck>> = {},
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/metrics' && registry !== undefined) {
      void sendMetrics(registry, response);
      return;
    }
    const { status, body } = answer(path, checks, alive);
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function sendMetrics(registry: Registry, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
}

function answer(
  path: string | undefined,
  checks: Readonly<Record<string, ReadinessCheck>>,
  alive: Readonly<Record<string, ReadinessCheck>>,
): { readonly status: number; readonly body: string } {
  const asked = path === '/readyz' ? checks : path === '/healthz' ? alive : undefined;
  if (asked === undefined) return { status: 404, body: 'not found; try /healthz, /readyz or /metrics\n' };
  const results = Object.entries(asked).map(([name, check]) => ({ name, problem: check() }));
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+] ${name} ok` : `[-] ${name}: ${problem}`,
  );
  const well = results.every(({ problem }) => problem === undefined);
  if (path === '/healthz' && well) return { status: 200, body: 'ok\n' };
  return { status: well ? 200 : 503, body: `${lines.join('\n')}\n` };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
