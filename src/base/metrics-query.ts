import { Gauge, type Registry } from 'prom-client';

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
