import { Counter, Gauge, type Registry } from 'prom-client';

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

/** What the query API cannot say by its answers: whether it could answer, and how long clients will believe it. */
export class QueryMetricFamilies {
  readonly #expiry: Gauge;
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
  }

  /** Asked for each time the metrics are read. */
  watchStorage(available: () => boolean): void {
    this.#available = available;
  }

  certificateInUse(notAfter: Date): void {
    this.#expiry.set(notAfter.getTime() / 1000);
  }
}
