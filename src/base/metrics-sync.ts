import { Counter, Gauge, type Registry } from 'prom-client';

/** What becomes of objects, per kind. */
export class SyncMetrics {
  readonly #notices: Counter<'kind' | 'reason'>;
  readonly #breaker: Gauge<'kind'>;
  readonly #troubled: Gauge;
  readonly #failed: Counter<'kind' | 'code'>;
  readonly #spooled: Gauge;
  readonly #spoolAside: Gauge;
  readonly #namesLost: Counter;
  readonly #storageWentBack: Counter;
  readonly #unfit: Counter<'kind' | 'column'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#notices = new Counter({
      name: 'ingester_notices_total',
      help: 'What happened to objects that somebody may ask about, by reason',
      labelNames: ['kind', 'reason'],
      registers,
    });
    this.#breaker = new Gauge({
      name: 'ingester_deletion_breaker_open',
      help: '1 while deletions of the kind wait for a person',
      labelNames: ['kind'],
      registers,
    });
    this.#troubled = new Gauge({
      name: 'ingester_troubled_objects',
      help: 'Objects whose last attempt failed',
      registers,
    });
    this.#failed = new Counter({
      name: 'ingester_failed_attempts_total',
      help: 'Attempts to deal with an object that failed, by the code of the error',
      labelNames: ['kind', 'code'],
      registers,
    });
    this.#spooled = new Gauge({
      name: 'ingester_spooled_objects',
      help: 'Final states that are on disk until MySQL is back',
      registers,
    });
    this.#spoolAside = new Gauge({
      name: 'ingester_spool_aside_objects',
      help: 'Final states on disk that MySQL does not take, or that are damaged; they are kept in files of their own',
      registers,
    });
    this.#unfit = new Counter({
      name: 'ingester_column_values_unfit_total',
      help: 'Writes of objects with a value that its indexed column cannot hold: cut or NULL there, whole in the object',
      labelNames: ['kind', 'column'],
      registers,
    });
    this.#storageWentBack = new Counter({
      name: 'ingester_storage_went_back_total',
      help: 'How often MySQL was found without transactions that it had confirmed: a failover to a replica that was behind, or a restore',
      registers,
    });
    this.#namesLost = new Counter({
      name: 'ingester_names_lost_total',
      help: 'Objects that left although their names could not be written down for admission',
      registers,
    });
  }

  /** Every series exists from the start, so that an alert has a value before the first event. */
  prepare(kind: string, reasons: readonly string[]): void {
    for (const reason of reasons) this.#notices.inc({ kind, reason }, 0);
    this.#breaker.set({ kind }, 0);
  }

  prepareColumns(kind: string, columns: readonly string[]): void {
    for (const column of columns) this.#unfit.inc({ kind, column }, 0);
  }

  unfit(kind: string, columns: readonly string[]): void {
    for (const column of columns) this.#unfit.inc({ kind, column });
  }

  noticed(kind: string, reason: string): void {
    this.#notices.inc({ kind, reason });
  }

  breakerOpen(kind: string, open: boolean): void {
    this.#breaker.set({ kind }, open ? 1 : 0);
  }

  troubled(count: number): void {
    this.#troubled.set(count);
  }

  failed(kind: string, code: string): void {
    this.#failed.inc({ kind, code });
  }

  storageWentBack(): void {
    this.#storageWentBack.inc();
  }

  namesLost(count: number): void {
    this.#namesLost.inc(count);
  }

  spooled({ waiting, aside }: { readonly waiting: number; readonly aside: number }): void {
    this.#spooled.set(waiting);
    this.#spoolAside.set(aside);
  }
}
