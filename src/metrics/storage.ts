import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const COMMIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface StorageState {
  readonly available: boolean;
  readonly connections: { readonly used: number; readonly most: number };
}

/** MySQL as the reconciler sees it. */
export class StorageMetrics {
  readonly #commits: Counter<'outcome'>;
  readonly #rows: Counter;
  readonly #seconds: Histogram;
  #state: () => StorageState = () => ({ available: false, connections: { used: 0, most: 0 } });

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string, of: (state: StorageState) => number): void => {
      const state = (): StorageState => this.#state();
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(of(state()));
        },
      });
    };
    gauge('ingester_storage_available', '1 while MySQL can be used', ({ available }) => (available ? 1 : 0));
    gauge(
      'ingester_storage_connections_used',
      'Connections to MySQL that are in use or waited for',
      ({ connections }) => connections.used,
    );
    gauge(
      'ingester_storage_connections_max',
      'Most connections to MySQL at the same time (mysql.maxOpenConns)',
      ({ connections }) => connections.most,
    );
    this.#commits = new Counter({
      name: 'ingester_commits_total',
      help: 'Transactions that write objects, by outcome; one that failed is tried again, in parts where that helps',
      labelNames: ['outcome'],
      registers,
    });
    this.#rows = new Counter({
      name: 'ingester_committed_rows_total',
      help: 'Objects in the transactions that were committed',
      registers,
    });
    this.#seconds = new Histogram({
      name: 'ingester_commit_duration_seconds',
      help: 'Time of a transaction that writes objects, failed ones too',
      buckets: COMMIT_BUCKETS,
      registers,
    });
    for (const outcome of ['committed', 'failed']) this.#commits.inc({ outcome }, 0);
  }

  /** Asked for each time the metrics are read. */
  watch(state: () => StorageState): void {
    this.#state = state;
  }

  committed({ rows, seconds, outcome }: Commit): void {
    this.#commits.inc({ outcome });
    this.#seconds.observe(seconds);
    if (outcome === 'committed') this.#rows.inc(rows);
  }
}

export interface Commit {
  readonly outcome: 'committed' | 'failed';
  readonly rows: number;
  readonly seconds: number;
}
