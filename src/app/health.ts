import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { Connections } from '../base/connections.ts';
import { messageOf } from '../base/errors.ts';
import { type Address, connectionLimits } from '../base/https-server.ts';
import type { Logger } from '../base/logger.ts';
import { Watchdog } from '../base/watchdog.ts';
import type { Configuration } from '../config/schema.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { observeProcess } from '../metrics/process.ts';
import { METRICS_LIMITS, METRICS_PATH, type MetricsServerOptions, startMetricsServer } from './metrics-server.ts';

/** One line of /readyz: undefined means ready, text says what is missing. */
export type ReadinessCheck = () => string | undefined;

/** Ready until the signal, after which no new client is to come. */
export function servingUntil(signal: AbortSignal): Readonly<Record<string, ReadinessCheck>> {
  return { serving: () => (signal.aborted ? 'shutting down' : undefined) };
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const PLAIN = 'text/plain; charset=utf-8';
const LIMITS = { ...connectionLimits, ...METRICS_LIMITS };

export interface Role extends MetricsServerOptions {
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  readonly alive?: Readonly<Record<string, ReadinessCheck>>;
}

/** What every role serves beside its work: health, and metrics, there too unless they have a server of their own. */
export async function startHealth(configuration: Configuration, role: Role): Promise<HealthServer> {
  const { checks, alive } = role;
  const { registry } = role.metrics;
  observeProcess(registry);
  const metrics = await startMetricsServer(configuration, role);
  const shown = metrics === undefined ? registry : undefined;
  const health = await startHealthServer(configuration.health.bindAddress, checks, shown, alive);
  return {
    port: health.port,
    close: async () => {
      await Promise.all([health.close(), metrics?.close()]);
    },
  };
}

/**
 * /healthz fails where a restart would help; /readyz says, check by check, whether the process can do its job; /metrics
 * is for Prometheus.
 */
export async function startHealthServer(
  address: Address,
  checks: Readonly<Record<string, ReadinessCheck>>,
  registry?: Registry,
  alive: Readonly<Record<string, ReadinessCheck>> = {},
): Promise<HealthServer> {
  const connections = new Connections({ limits: LIMITS });
  const answering = connections.handling((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === METRICS_PATH && registry !== undefined) {
      void sendMetrics(registry, response);
      return;
    }
    const { status, body } = answer(path, checks, alive);
    response.writeHead(status, { 'content-type': PLAIN }).end(body);
  });
  const server = createServer(answering);
  server.on('connection', (socket) => {
    connections.accepted(socket);
    connections.opened(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...address }, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server, connections) };
}

async function sendMetrics(registry: Registry, response: ServerResponse): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch (error) {
    response.writeHead(500, { 'content-type': PLAIN }).end(`the metrics could not be read: ${messageOf(error)}\n`);
  }
}

function answer(
  path: string | undefined,
  checks: Readonly<Record<string, ReadinessCheck>>,
  alive: Readonly<Record<string, ReadinessCheck>>,
): { readonly status: number; readonly body: string } {
  const asked = path === '/readyz' ? checks : path === '/healthz' ? alive : undefined;
  if (asked === undefined) return { status: 404, body: 'not found; try /healthz, /readyz or /metrics\n' };
  const results = Object.entries(asked).map(([name, check]) => ({ name, problem: outcomeOf(check) }));
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+] ${name} ok` : `[-] ${name}: ${problem}`,
  );
  const well = results.every(({ problem }) => problem === undefined);
  if (path === '/healthz' && well) return { status: 200, body: 'ok\n' };
  return { status: well ? 200 : 503, body: `${lines.join('\n')}\n` };
}

/** A check that throws is reported as a problem; it must not end the process. */
function outcomeOf(check: ReadinessCheck): string | undefined {
  try {
    return check();
  } catch (error) {
    return `the check failed: ${messageOf(error)}`;
  }
}

function close(server: Server, connections: Connections): Promise<void> {
  connections.stop();
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** What stalls is in the log and in the metrics; whether readiness says so too is for the role to decide. */
export function createWatchdog(clock: Clock, logger: Logger, metrics: Pick<Metrics, 'watchdog'>): Watchdog {
  const watchdog = new Watchdog({ clock, logger, onStalled: (work) => metrics.watchdog.stalled(work) });
  metrics.watchdog.follow(watchdog);
  return watchdog;
}
