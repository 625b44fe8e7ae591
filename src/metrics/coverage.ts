import { Counter, Gauge, type Registry } from 'prom-client';

/** How completely the objects of a kind are guarded and stored. Every gauge but the time must read zero. */
export class CoverageMetricFamilies {
  readonly #counts = new Map<string, () => number>();
  readonly #swept: Counter<'kind'>;
  readonly #missedDeletes: Counter<'kind'>;
  readonly #findings: Gauge<'kind' | 'finding'>;
  readonly #audited: Gauge<'kind'>;
  readonly #wentBack: Counter<'kind'>;
  readonly #withoutStorage: Gauge<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const counts = this.#counts;
    new Gauge({
      name: 'ingester_unguarded_objects',
      help: 'Live objects without the finalizer',
      labelNames: ['kind'],
      registers,
      collect() {
        for (const [kind, count] of counts) this.set({ kind }, count());
      },
    });
    this.#swept = new Counter({
      name: 'ingester_finalizer_sweep_objects_total',
      help: 'Objects that got the finalizer after their creation',
      labelNames: ['kind'],
      registers,
    });
    this.#missedDeletes = new Counter({
      name: 'ingester_missed_deletes_total',
      help: 'Rows ended because their object left the API server unguarded',
      labelNames: ['kind'],
      registers,
    });
    this.#findings = new Gauge({
      name: 'ingester_audit_findings',
      help: 'Objects that the last audit found to differ between MySQL and the API server, by finding',
      labelNames: ['kind', 'finding'],
      registers,
    });
    this.#audited = new Gauge({
      name: 'ingester_audit_timestamp_seconds',
      help: 'Unix time at which the last audit of the kind ended; 0 before the first',
      labelNames: ['kind'],
      registers,
    });
    this.#wentBack = new Counter({
      name: 'ingester_version_went_back_total',
      help: 'How often the resourceVersion of the API server went back, which means that etcd was restored',
      labelNames: ['kind'],
      registers,
    });
    this.#withoutStorage = new Gauge({
      name: 'ingester_deletions_without_storage',
      help: 'Guarded objects that are being deleted and wait, because metadata storage is off or the kind is not ingested',
      labelNames: ['kind'],
      registers,
    });
  }

  /** Of kinds that no reconciler ingests. */
  deletionsWithoutStorage(kind: string, count: number): void {
    this.#withoutStorage.set({ kind }, count);
  }

  /** `unguarded` is asked at every scrape. */
  forKind(kind: string, unguarded: () => number): CoverageMetrics {
    if (!this.#counts.has(kind)) this.#audited.set({ kind }, 0);
    this.#counts.set(kind, unguarded);
    this.#swept.inc({ kind }, 0);
    this.#missedDeletes.inc({ kind }, 0);
    this.#wentBack.inc({ kind }, 0);
    return {
      swept: () => this.#swept.inc({ kind }),
      wentBack: () => this.#wentBack.inc({ kind }),
      missedDeletes: (count) => this.#missedDeletes.inc({ kind }, count),
      audited: (findings, at) => {
        for (const [finding, count] of Object.entries(findings)) this.#findings.set({ kind, finding }, count);
        this.#audited.set({ kind }, at.getTime() / 1000);
      },
    };
  }
}

export interface CoverageMetrics {
  swept(): void;
  wentBack(): void;
  missedDeletes(count: number): void;
  audited(findings: Readonly<Record<string, number>>, at: Date): void;
}
