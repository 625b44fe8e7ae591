import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Why a server ended a connection: where it took too long, or `room` for another one. */
const reasons = ['opening', 'idle', 'head', 'body', 'answering', 'room'] as const;

/** What the HTTPS servers of a process do to clients that hold connections. */
export class ServerMetrics {
  readonly #ended: Counter<'reason'>;

  constructor(registry: Registry) {
    this.#ended = new Counter({
      name: 'ingester_server_connections_ended_total',
      help: 'Connections that the server ended because they took too long in a phase, or to make room for others',
      labelNames: ['reason'],
      registers: [registry],
    });
    for (const reason of reasons) this.#ended.inc({ reason }, 0);
  }

  connectionEnded(reason: (typeof reasons)[number]): void {
    this.#ended.inc({ reason });
  }
}

const methods: readonly string[] = ['GET', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'WATCH'];
const QUERY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface AnsweredQuery {
  readonly method: string;
  readonly code: number;
  /** One that is configured, or empty. */
  readonly cluster: string;
  readonly seconds: number;
}

/** What the query API cannot say by its answers: whether it could answer, and how long clients will believe it. */
export class QueryMetricFamilies {
  readonly #expiry: Gauge;
  readonly #requests: Counter<'method' | 'code' | 'cluster'>;
  readonly #seconds: Histogram<'method'>;
  #available: () => boolean = () => false;

  constructor(registry: Registry) {
    const registers = [registry];
    const available = (): number => (this.#available() ? 1 : 0);
    new Gauge({
      name: 'ingester_query_storage_available',
      help: '1 while the query API can read MySQL; while it is 0, reads are answered with 503',
      registers,
      collect() {
        this.set(available());
      },
    });
    this.#expiry = new Gauge({
      name: 'ingester_query_certificate_not_after_seconds',
      help: 'Unix time at which the certificate of the query API expires',
      registers,
    });
    this.#requests = new Counter({
      name: 'ingester_query_requests_total',
      help: 'Requests to the query API by method, HTTP status and the cluster whose objects were asked for, discovery included',
      labelNames: ['method', 'code', 'cluster'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'ingester_query_request_duration_seconds',
      help: 'Time until an answer of the query API has been read',
      labelNames: ['method'],
      buckets: QUERY_BUCKETS,
      registers,
    });
    this.#requests.inc({ method: 'GET', code: '200', cluster: '' }, 0);
    this.#seconds.zero({ method: 'GET' });
  }

  answered({ method, code, cluster, seconds }: AnsweredQuery): void {
    // A client chooses the method; only those that are served have a series.
    const shown = methods.includes(method) ? method : 'other';
    this.#requests.inc({ method: shown, code: String(code), cluster });
    this.#seconds.observe({ method: shown }, seconds);
  }

  /** Asked for each time the metrics are read. */
  watchStorage(available: () => boolean): void {
    this.#available = available;
  }

  certificateInUse(notAfter: Date): void {
    this.#expiry.set(notAfter.getTime() / 1000);
  }
}
