// The query role: what MySQL knows, as a Kubernetes API.
import { loadKeyPair } from '../../webhooks/certificate.ts';
import { untilAborted } from '../base/abort.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { close, listen, portOf, type ServerTls, useTls } from '../base/https-server.ts';
import type { Logger } from '../base/logger.ts';
import { createQueryMetrics, type QueryMetrics } from '../base/metrics.ts';
import { storageEnabled } from '../config/gates.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { createQueryApp } from '../query/app.ts';
import { Authenticator } from '../query/authenticate.ts';
import { Authorizer } from '../query/authorize.ts';
import { type FrontProxySettings, readFrontProxySettings } from '../query/front-proxy.ts';
import type { QueryLimits } from '../query/options.ts';
import { Questions } from '../query/questions.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { parseAddress } from './address.ts';
import { startHealthServer } from './health.ts';
import { kindsOf } from './kinds.ts';
import { createClient } from './kube-client.ts';
import { mysqlOptions } from './mysql-options.ts';
import { queryTemplates } from './query-templates.ts';
import { createQueryWrites } from './query-writes.ts';
import { removeRegistrationWithNamespace } from './registration.ts';
import { sensitiveValues } from './sensitive.ts';
import { StorageMonitor } from './storage-monitor.ts';

const DRAIN_MS = 30_000;
/** How often certificates and the API server's settings are looked at. */
const REFRESH_MS = 10_000;
/** A thousand groups of a user with the long names that identity providers give them. */
const HEAD_BYTES = 128 * 1024;
const MONITOR_MS = 5000;

export async function runQuery(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  if (!storageEnabled(configuration)) {
    const message = 'the query API needs metadataStorage.enableMetadataStorage and the mysql section';
    throw new ConfigurationError('the query role', [{ path: 'metadataStorage.enableMetadataStorage', message }]);
  }
  const { query, health } = configuration;
  const templates = queryTemplates(configuration);
  const clock = systemClock;
  const metrics = createQueryMetrics();
  const client = createClient(configuration, clock, metrics);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), clock, templates);
  const kinds = kindsOf(configuration);
  const questions = new Questions({ client, clock });
  const tls = new Tls(query.certDir, await readFrontProxySettings(client), metrics);
  const app = createQueryApp({
    kinds,
    storage,
    templates,
    client,
    authenticator: new Authenticator({ questions, clock, frontProxy: () => tls.frontProxy }),
    authorizer: new Authorizer({ questions, storage, clock }),
    writes: createQueryWrites({ client, storage, sensitive: sensitiveValues(configuration), clock }),
    clock,
    logger,
    limits: limitsOf(configuration),
  });
  const server = await listen(app, tls.settings(), {
    ...parseAddress('query.bindAddress', query.bindAddress),
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
  const healthServer = await startHealthServer(
    parseAddress('health.bindAddress', health.bindAddress),
    { serving: () => (signal.aborted ? 'shutting down' : undefined) },
    metrics.registry,
  );
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Query API ready');
  const refreshing = refresh(tls, { client, logger, signal, use: (settings) => useTls(server, settings) });
  await Promise.all([untilAborted(signal), monitor.run(signal), refreshing]);
  await Promise.all([close(server, DRAIN_MS), removeRegistrationWithNamespace({ client, clock, logger })]);
  await healthServer.close();
  await Promise.all([client.close(), storage.close()]);
  logger.info({}, 'Query API stopped');
}

function limitsOf({ query }: Configuration): QueryLimits {
  return {
    firstMs: query.requestTimeout,
    wholeMs: Math.max(query.requestTimeout, query.answerTimeout),
    maxInFlight: query.maxInFlight,
    userPerSecond: query.userRequestsPerSecond,
    userBurst: query.userBurst,
    staleMs: query.staleAfter,
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

interface Refresh {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly use: (settings: ServerTls) => void;
}

/** A renewed certificate or a new authority of the API server is used without a restart. */
async function refresh(tls: Tls, { client, logger, signal, use }: Refresh): Promise<void> {
  let inUse = JSON.stringify(tls.settings());
  for (;;) {
    await sleep(systemClock, REFRESH_MS, signal);
    if (signal.aborted) return;
    try {
      tls.frontProxy = await readFrontProxySettings(client);
      const settings = tls.settings();
      const text = JSON.stringify(settings);
      if (text !== inUse) {
        use(settings);
        inUse = text;
        logger.info({}, 'Certificates replaced');
      }
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, 'Certificates could not be read again; the old ones stay in use');
    }
  }
}
