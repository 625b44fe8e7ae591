import { Counter, type Registry } from 'prom-client';

/** What becomes of the Kubernetes events that this process records. */
export class EventMetrics {
  readonly #dropped: Counter;

  constructor(registry: Registry) {
    this.#dropped = new Counter({
      name: 'ingester_events_dropped_total',
      help: 'Kubernetes events that were not written: too many at once, or the API server refused them',
      registers: [registry],
    });
  }

  dropped(): void {
    this.#dropped.inc();
  }
}
