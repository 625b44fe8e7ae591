import { Gauge, type Registry } from 'prom-client';
import { HotHistogram } from './histogram.ts';

/** Seconds. Objectives are at 1 s; an outage of MySQL is longer than the last but one. */
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10, 30, 60, 300, 900];

/** What is not in MySQL yet, asked at every scrape. */
export interface Unstored {
  readonly changes: number;
  readonly oldestSeconds: number;
  /** In the API server. */
  readonly objects: number;
}

export interface LagMetrics {
  stored(seconds: number): void;
}

/** How far MySQL is behind the API server, per kind. */
export class LagMetricFamilies {
  readonly #seconds: HotHistogram;
  readonly #kinds = new Map<string, () => Unstored>();

  constructor(registry: Registry) {
    this.#seconds = new HotHistogram(
      {
        name: 'ingester_change_lag_seconds',
        help: 'Time from the watch event of a change until MySQL has committed it; objects of a first list are not counted',
        labelNames: ['kind'],
        buckets: LAG_BUCKETS,
      },
      registry,
    );
    const kinds = this.#kinds;
    const gauge = (name: string, help: string, of: (unstored: Unstored) => number): void => {
      new Gauge({
        name,
        help,
        labelNames: ['kind'],
        registers: [registry],
        collect() {
          for (const [kind, unstored] of kinds) this.set({ kind }, of(unstored()));
        },
      });
    };
    gauge(
      'ingester_oldest_unstored_change_seconds',
      'Age of the oldest change that was seen and is not in MySQL yet; 0 if there is none',
      ({ oldestSeconds }) => oldestSeconds,
    );
    gauge('ingester_unstored_changes', 'Objects with a change that is not in MySQL yet', ({ changes }) => changes);
    gauge('ingester_objects', 'Objects in the API server, as this process sees them', ({ objects }) => objects);
  }

  forKind(kind: string, unstored: () => Unstored): LagMetrics {
    this.#kinds.set(kind, unstored);
    const series = this.#seconds.series({ kind });
    return { stored: (seconds) => series.observe(seconds) };
  }
}
