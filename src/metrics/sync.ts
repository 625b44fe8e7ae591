import { Counter, Gauge, type Registry } from 'prom-client';

/** What becomes of objects, per kind. */
export class SyncMetrics {
  readonly #events: Counter<'kind' | 'reason'>;
  readonly #breaker: Gauge<'kind'>;
  readonly #failing: Gauge;
  readonly #failed: Counter<'kind' | 'code'>;
  readonly #spooled: Gauge;
  readonly #spoolAside: Gauge;
  readonly #tombstonesLost: Counter;
  readonly #storageWentBack: Counter;
  readonly #notDurable: Gauge;
  readonly #unfit: Counter<'kind' | 'column'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#events = new Counter({
      name: 'ingester_events_total',
      help: 'Events of objects, recorded as Kubernetes events or only counted, by reason',
      labelNames: ['kind', 'reason'],
      registers,
    });
    this.#breaker = new Gauge({
      name: 'ingester_deletion_breaker_open',
      help: '1 while deletions of the kind wait for an operator',
      labelNames: ['kind'],
      registers,
    });
    this.#failing = new Gauge({
      name: 'ingester_failing_objects',
      help: 'Objects whose last attempt failed',
      registers,
    });
    this.#failed = new Counter({
      name: 'ingester_failed_attempts_total',
      help: 'Failed reconciles of objects, by error code',
      labelNames: ['kind', 'code'],
      registers,
    });
    this.#spooled = new Gauge({
      name: 'ingester_spooled_objects',
      help: 'Final states on disk until MySQL is available',
      registers,
    });
    this.#spoolAside = new Gauge({
      name: 'ingester_spool_aside_objects',
      help: 'Final states on disk that MySQL refuses or that are damaged; they are kept in separate files',
      registers,
    });
    this.#unfit = new Counter({
      name: 'ingester_column_values_unfit_total',
      help: 'Writes of objects with a value that its indexed column cannot hold: truncated or NULL in the column, complete in the object; in json what is stored as text, in proto what has no protobuf form, in uid a key that is no key or that of another row',
      labelNames: ['kind', 'column'],
      registers,
    });
    this.#storageWentBack = new Counter({
      name: 'ingester_storage_went_back_total',
      help: 'How often MySQL lacked transactions that it had confirmed, after a failover to a lagging replica or a restore',
      registers,
    });
    this.#notDurable = new Gauge({
      name: 'ingester_storage_weak_settings',
      help: 'How many settings of MySQL lose what it confirmed when its machine crashes or it fails over (sync_binlog, innodb_flush_log_at_trx_commit, rpl_semi_sync_source_*)',
      registers,
    });
    this.#tombstonesLost = new Counter({
      name: 'ingester_tombstones_lost_total',
      help: 'Tombstones that could not be written: the objects left, and admission does not know their names',
      registers,
    });
  }

  /** Every series exists from the start, so that an alert has a value before the first event. */
  prepare(kind: string, reasons: readonly string[]): void {
    for (const reason of reasons) this.#events.inc({ kind, reason }, 0);
    this.#breaker.set({ kind }, 0);
  }

  prepareColumns(kind: string, columns: readonly string[]): void {
    for (const column of columns) this.#unfit.inc({ kind, column }, 0);
  }

  unfit(kind: string, columns: readonly string[]): void {
    for (const column of columns) this.#unfit.inc({ kind, column });
  }

  event(kind: string, reason: string): void {
    this.#events.inc({ kind, reason });
  }

  breakerOpen(kind: string, open: boolean): void {
    this.#breaker.set({ kind }, open ? 1 : 0);
  }

  failing(count: number): void {
    this.#failing.set(count);
  }

  failed(kind: string, code: string): void {
    this.#failed.inc({ kind, code });
  }

  notDurable(settings: readonly string[]): void {
    this.#notDurable.set(settings.length);
  }

  storageWentBack(): void {
    this.#storageWentBack.inc();
  }

  tombstonesLost(count: number): void {
    this.#tombstonesLost.inc(count);
  }

  spooled({ waiting, aside }: { readonly waiting: number; readonly aside: number }): void {
    this.#spooled.set(waiting);
    this.#spoolAside.set(aside);
  }
}
