import { Counter, type Registry } from 'prom-client';

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
