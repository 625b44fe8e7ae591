import { Counter, Gauge, type Registry } from 'prom-client';

/** How completely the objects of a kind are guarded and stored. Every gauge but the time must read zero. */
export class CoverageMetricFamilies {
  readonly #counts = new Map<string, () => number>();
  readonly #adopted: Counter<'kind'>;
  readonly #vanished: Counter<'kind'>;
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
    this.#adopted = new Counter({
      name: 'ingester_adopted_objects_total',
      help: 'Objects that were given the finalizer after their creation',
      labelNames: ['kind'],
      registers,
    });
    this.#vanished = new Counter({
      name: 'ingester_vanished_objects_total',
      help: 'Rows ended because their object left the API server unguarded',
      labelNames: ['kind'],
      registers,
    });
    this.#findings = new Gauge({
      name: 'ingester_audit_findings',
      help: 'Objects of which MySQL and the API server say different things, by the last audit',
      labelNames: ['kind', 'finding'],
      registers,
    });
    this.#audited = new Gauge({
      name: 'ingester_audit_timestamp_seconds',
      help: 'When the last audit of the kind ended, in seconds since 1970; 0 before the first',
      labelNames: ['kind'],
      registers,
    });
    this.#wentBack = new Counter({
      name: 'ingester_version_went_back_total',
      help: 'How often the API server was found at an earlier resourceVersion than before: etcd was restored',
      labelNames: ['kind'],
      registers,
    });
    this.#withoutStorage = new Gauge({
      name: 'ingester_deletions_without_storage',
      help: 'Guarded objects that are being deleted and wait, because metadata storage is off',
      labelNames: ['kind'],
      registers,
    });
  }

  /** Of a reconciler that is idle. */
  deletionsWithoutStorage(kind: string, count: number): void {
    this.#withoutStorage.set({ kind }, count);
  }

  /** `unguarded` is asked at every scrape. */
  forKind(kind: string, unguarded: () => number): CoverageMetrics {
    this.#counts.set(kind, unguarded);
    this.#adopted.inc({ kind }, 0);
    this.#vanished.inc({ kind }, 0);
    this.#audited.set({ kind }, 0);
    this.#wentBack.inc({ kind }, 0);
    return {
      adopted: () => this.#adopted.inc({ kind }),
      wentBack: () => this.#wentBack.inc({ kind }),
      vanished: (count) => this.#vanished.inc({ kind }, count),
      audited: (findings, at) => {
        for (const [finding, count] of Object.entries(findings)) this.#findings.set({ kind, finding }, count);
        this.#audited.set({ kind }, at.getTime() / 1000);
      },
    };
  }
}

export interface CoverageMetrics {
  adopted(): void;
  wentBack(): void;
  vanished(count: number): void;
  audited(findings: Readonly<Record<string, number>>, at: Date): void;
}
