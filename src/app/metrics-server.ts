// /metrics over HTTPS, for users that the API server knows and allows to get that path, as controllers written with
// controller-runtime serve it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { loadKeyPair } from '../../webhooks/certificate.ts';
import { untilAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import { close, listen, portOf, type ServerTls, useTls } from '../base/https-server.ts';
import { valueAt } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { subjectAccessReviews } from '../kube/resources.ts';
import type { WebhookMetrics } from '../metrics/metrics.ts';
import { Authenticator } from '../query/authenticate.ts';
import { accessReview } from '../query/authorize.ts';
import { BoundedCache } from '../query/bounded-cache.ts';
import type { User } from '../query/context.ts';
import { QueryError } from '../query/errors.ts';
import { Questions } from '../query/questions.ts';
import { createClient } from './kube-client.ts';
import { refreshTls } from './refresh-tls.ts';

export const METRICS_PATH = '/metrics';

/** Prometheus needs a few connections; no other client may take up more of the process. */
export const METRICS_LIMITS = { most: 64, bodyMs: 5000, answerMs: 30_000 } as const;
/** A scrape that waits longer for the API server has failed already. */
const REVIEW_MS = 9000;
const SHUTDOWN_MS = 1000;
/** Prometheus sees the process while the API server is away for a moment. */
const KEEP_MS = 60_000;
const CAPACITY = 1024;

export interface MetricsServerOptions {
  readonly metrics: Pick<WebhookMetrics, 'registry' | 'restClient'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Undefined where the configuration asks for none: /metrics is at the health port then. */
export async function startMetricsServer(
  configuration: Configuration,
  { metrics, clock, logger }: MetricsServerOptions,
): Promise<MetricsServer | undefined> {
  const { bindAddress, certDir } = configuration.metrics;
  if (bindAddress === undefined) return undefined;
  const client = createClient(configuration, clock, metrics);
  const { registry } = metrics;
  const readers = new MetricsReaders({ client, clock });
  const read = (): ServerTls => pairIn(certDir);
  const inUse = certDir === '' ? await ownPair(clock) : read();
  const server = await listen(
    (request, response) => void answer(request, response, { readers, text: () => registry.metrics(), logger }),
    inUse,
    { ...bindAddress, limits: METRICS_LIMITS },
  );
  const stop = new AbortController();
  const refreshing =
    certDir === ''
      ? untilAborted(stop.signal)
      : refreshTls({ read, inUse, use: (tls) => useTls(server, tls), logger }, stop.signal);
  logger.info({ port: portOf(server) }, 'Metrics are served over HTTPS');
  return {
    port: portOf(server),
    close: async () => {
      stop.abort();
      await Promise.all([refreshing, close(server, SHUTDOWN_MS)]);
      await client.close();
    },
  };
}

function pairIn(certDir: string): ServerTls {
  const { cert, key } = loadKeyPair(certDir, '', 'metrics.certDir');
  return { cert, key };
}

/** Only where it is needed: the library takes time to load. */
async function ownPair(clock: Clock): Promise<ServerTls> {
  const { selfSigned } = await import('../base/self-signed.ts');
  const { certificatePem: cert, keyPem: key } = await selfSigned('ingester-metrics', ['localhost'], clock.now());
  return { cert, key };
}

interface Answering {
  readonly readers: Pick<MetricsReaders, 'require'>;
  readonly text: () => Promise<string>;
  readonly logger: Logger;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { readers, text, logger }: Answering,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    if (request.url?.split('?')[0] !== METRICS_PATH) throw new QueryError('NotFound', `not found; try ${METRICS_PATH}`);
    if (request.method !== 'GET') throw new QueryError('MethodNotAllowed', `only GET ${METRICS_PATH} is served`);
    await readers.require(request, AbortSignal.any([gone.signal, AbortSignal.timeout(REVIEW_MS)]));
    const body = await text();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body);
  } catch (thrown) {
    const error = thrown instanceof QueryError ? thrown : new QueryError('InternalError', messageOf(thrown));
    if (error.status >= 500 && !response.closed) logger.warn({ err: thrown }, 'Metrics could not be served');
    response.writeHead(error.status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${error.message}\n`);
  }
}

/** Admits users with a bearer token that the API server confirms and allows to get /metrics. */
export class MetricsReaders {
  readonly #questions: Questions;
  readonly #authenticator: Authenticator;
  readonly #answers: BoundedCache<boolean>;

  constructor({ client, clock }: { readonly client: Pick<KubeClient, 'create'>; readonly clock: Clock }) {
    this.#questions = new Questions({ client, clock });
    this.#authenticator = new Authenticator({
      questions: this.#questions,
      clock,
      frontProxy: () => undefined,
      keepMs: KEEP_MS,
    });
    this.#answers = new BoundedCache({ clock, capacity: CAPACITY, keepMs: KEEP_MS });
  }

  /** Throws Unauthorized, Forbidden, or ServiceUnavailable where the API server does not say. */
  async require(request: IncomingMessage, signal: AbortSignal): Promise<void> {
    try {
      await this.#require(request, signal);
    } catch (error) {
      if (error instanceof QueryError) throw error;
      const message = 'the API server did not say who may read the metrics; see the log of this process';
      throw new QueryError('ServiceUnavailable', message, { cause: error });
    }
  }

  async #require(request: IncomingMessage, signal: AbortSignal): Promise<void> {
    const user = await this.#authenticator.authenticate(request, signal);
    const key = sha256Hex(JSON.stringify(user));
    if (!(await this.#answers.get(key, (waited) => this.#mayRead(user, waited), signal))) throw forbidden(user);
  }

  async #mayRead(user: User, signal: AbortSignal): Promise<boolean> {
    const object = accessReview(user, { nonResourceAttributes: { path: METRICS_PATH, verb: 'get' } });
    const question = { asker: user.name, resource: subjectAccessReviews, object };
    return valueAt(await this.#questions.ask(question, signal), ['status', 'allowed']) === true;
  }
}

function forbidden({ name }: User): QueryError {
  return new QueryError(
    'Forbidden',
    `user "${name}" cannot get path "${METRICS_PATH}"; bind the ClusterRole ingester-metrics-reader`,
  );
}
