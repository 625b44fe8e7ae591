// The query role: what MySQL knows, as a Kubernetes API.
import { loadKeyPair } from '../../../webhooks/certificate.ts';
import { untilAborted } from '../../base/abort.ts';
import { systemClock } from '../../base/clock.ts';
import { close, connectionLimits, listen, portOf, type ServerTls, useTls } from '../../base/https-server.ts';
import type { Logger } from '../../base/logger.ts';
import { storageEnabled } from '../../config/feature-switches.ts';
import { ConfigurationError } from '../../config/load.ts';
import type { Configuration } from '../../config/schema.ts';
import { createQueryMetrics, type QueryMetrics } from '../../metrics/metrics.ts';
import { createQueryApp } from '../../query/app.ts';
import { Authenticator } from '../../query/authenticate.ts';
import { type FrontProxySettings, readFrontProxySettings } from '../../query/front-proxy.ts';
import { QUERY_ADDRESS } from '../../query/names.ts';
import type { QueryLimits } from '../../query/options.ts';
import { removeRegistrationWithNamespace } from '../../query/registration.ts';
import { MOST_WATCHES } from '../../query/watch/watches.ts';
import { QueryTemplateInvalidError } from '../../storage/errors.ts';
import { QueryTemplates } from '../../storage/query-templates.ts';
import { StorageMonitor } from '../../sync/status/storage-monitor.ts';
import { servingUntil, startHealth } from '../health.ts';
import { kindsOf } from '../kinds.ts';
import { refreshTls } from '../refresh-tls.ts';
import { openCluster, openOthers } from './clusters.ts';

const SHUTDOWN_MS = 30_000;
/** A thousand groups of a user with the long names that identity providers give them. */
const HEAD_BYTES = 128 * 1024;
const MONITOR_MS = 5000;
/** Requests that are answered at once: each takes memory of the pod; more requests take more replicas. */
const MAX_IN_FLIGHT = 64;
/** Of a user who asked nothing for a while: the commands of a page, or of a script that begins. */
const BURST_SECONDS = 4;
/** A list is answered page by page, however long it is; a reader that takes longer holds a place of others. */
const WHOLE_ANSWER_MS = 600_000;
/** No watch takes the connection of a request. */
export const QUERY_CONNECTIONS = { most: connectionLimits.most + MOST_WATCHES } as const;
/** The reconciler notes every second up to where MySQL is complete, unless it restarts or MySQL is away. */
const STALE_MS = 180_000;

export async function runQuery(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  requireStorage(configuration);
  const { bindAddress = QUERY_ADDRESS, certDir } = configuration.server;
  const templates = queryTemplates(configuration);
  const clock = systemClock;
  const metrics = createQueryMetrics();
  const around = { templates, metrics, clock, logger };
  const own = openCluster(configuration, around);
  const others = openOthers(configuration, own, around);
  const { client, storage, questions } = own;
  const kinds = kindsOf(configuration);
  const tls = new Tls(certDir, await readFrontProxySettings(client), metrics);
  const app = createQueryApp({
    ...own,
    others,
    kinds,
    templates,
    authenticator: new Authenticator({ questions, clock, frontProxy: () => tls.frontProxy }),
    clock,
    logger,
    limits: limitsOf(configuration),
    stopping: signal,
    onAnswered: (answer) => metrics.query.answered(answer),
  });
  const inUse = tls.settings();
  const server = await listen(app, inUse, {
    ...bindAddress,
    limits: QUERY_CONNECTIONS,
    headBytes: HEAD_BYTES,
    onEnded: (reason) => metrics.server.connectionEnded(reason),
  });
  const monitor = new StorageMonitor({
    storage,
    kinds,
    periodMs: MONITOR_MS,
    clock,
    logger,
    onRecovered: () => undefined,
  });
  metrics.query.watchStorage(() => monitor.problem === undefined);
  // Ready without MySQL too: without a ready replica the API server finds no discovery, and deletes no namespace.
  const healthServer = await startHealth(configuration, { checks: servingUntil(signal), metrics, clock, logger });
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Query API ready');
  const read = async (): Promise<ServerTls> => {
    tls.frontProxy = await readFrontProxySettings(client);
    return tls.settings();
  };
  const refreshing = refreshTls({ read, inUse, use: (settings) => useTls(server, settings), logger }, signal);
  await Promise.all([untilAborted(signal), monitor.run(signal), refreshing]);
  await Promise.all([close(server, SHUTDOWN_MS), removeRegistrationWithNamespace({ client, clock, logger })]);
  await healthServer.close();
  await Promise.all([own, ...others.values()].map((cluster) => cluster.close()));
  logger.info({}, 'Query API stopped');
}

function requireStorage(configuration: Configuration): void {
  if (storageEnabled(configuration)) return;
  const message = 'the query API needs metadataStorage.enableMetadataStorage and the mysql section';
  throw new ConfigurationError('the query role', [{ path: 'metadataStorage.enableMetadataStorage', message }]);
}

function limitsOf({ query }: Configuration): QueryLimits {
  return {
    firstMs: query.requestTimeout,
    wholeMs: Math.max(query.requestTimeout, WHOLE_ANSWER_MS),
    maxInFlight: MAX_IN_FLIGHT,
    userPerSecond: query.userRequestsPerSecond,
    userBurst: query.userRequestsPerSecond * BURST_SECONDS,
    staleMs: STALE_MS,
  };
}

/** What the server shows and whom it trusts; both change while it runs. */
class Tls {
  readonly #certDir: string;
  readonly #metrics: QueryMetrics;
  frontProxy: FrontProxySettings | undefined;

  constructor(certDir: string, frontProxy: FrontProxySettings | undefined, metrics: QueryMetrics) {
    this.#certDir = certDir;
    this.#metrics = metrics;
    this.frontProxy = frontProxy;
  }

  settings(): ServerTls {
    const { cert, key, notAfter } = loadKeyPair(this.#certDir);
    this.#metrics.query.certificateInUse(notAfter);
    return { cert, key, clientCa: this.frontProxy?.caPem };
  }
}

// The named queries of this installation: those that are shipped and those of the configuration.

/** Throws a ConfigurationError with everything that is wrong in any template, each with its path in the file. */
export function queryTemplates(configuration: Configuration): QueryTemplates {
  try {
    return new QueryTemplates(kindsOf(configuration), configuration.query.templates);
  } catch (error) {
    if (!(error instanceof QueryTemplateInvalidError)) throw error;
    const errors = error.errors.map(({ path, message }) => ({ path: `query.templates${path}`, message }));
    throw new ConfigurationError('the query templates', errors);
  }
}
