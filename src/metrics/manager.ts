import { Counter, Gauge, type Registry } from 'prom-client';
import type { Watchdog } from '../base/watchdog.ts';

export class LeaderElectionMetrics {
  readonly #master: Gauge<'name'>;
  readonly #slowPath: Counter<'name'>;
  readonly #buckets: Gauge;
  readonly #unowned: Gauge;

  constructor(registry: Registry) {
    this.#master = new Gauge({
      name: 'leader_election_master_status',
      help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master',
      labelNames: ['name'],
      registers: [registry],
    });
    this.#slowPath = new Counter({
      name: 'leader_election_slowpath_total',
      help: 'Total number of slow path exercised in renewing leader leases',
      labelNames: ['name'],
      registers: [registry],
    });
    this.#buckets = new Gauge({
      name: 'ingester_buckets',
      help: 'Buckets of the objects, of 32, that this replica works on, where all replicas work; else 0',
      registers: [registry],
    });
    this.#unowned = new Gauge({
      name: 'ingester_unowned_buckets',
      help: 'Buckets of the objects, of 32, that no replica owns, as this one sees it, where all replicas work; else 0',
      registers: [registry],
    });
  }

  /** As a replica sees it that works beside others. */
  unowned(count: number): void {
    this.#unowned.set(count);
  }

  /** Of a replica that works beside others. */
  buckets(count: number): void {
    this.#buckets.set(count);
  }

  /** `name` is that of the lease. */
  forLease(name: string): {
    readonly leading: () => void;
    readonly notLeading: () => void;
    readonly slowPath: () => void;
  } {
    this.#master.set({ name }, 0);
    this.#slowPath.inc({ name }, 0);
    return {
      leading: () => this.#master.set({ name }, 1),
      notLeading: () => this.#master.set({ name }, 0),
      slowPath: () => this.#slowPath.inc({ name }),
    };
  }
}

/** Whether work gets on: see Watchdog. */
export class WatchdogMetrics {
  readonly #stalled: Counter<'work'>;
  #silent: () => ReadonlyMap<string, number> = () => new Map();

  constructor(registry: Registry) {
    const silent = (): ReadonlyMap<string, number> => this.#silent();
    // Read before the counter, whose series exist from the first scrape on.
    const known = (work: string): void => this.#stalled.inc({ work }, 0);
    new Gauge({
      name: 'ingester_work_silent_seconds',
      help: 'Seconds since the last progress of the work of this name, the longest where there are several; 0 if none is running',
      labelNames: ['work'],
      registers: [registry],
      collect() {
        for (const [work, seconds] of silent()) {
          this.set({ work }, seconds);
          known(work);
        }
      },
    });
    this.#stalled = new Counter({
      name: 'ingester_work_stalled_total',
      help: 'Work that was aborted because it made no progress within its limit',
      labelNames: ['work'],
      registers: [registry],
    });
  }

  /** Asks the watchdog at every scrape. */
  follow(watchdog: Pick<Watchdog, 'silentSeconds'>): void {
    this.#silent = () => watchdog.silentSeconds();
  }

  stalled(work: string): void {
    this.#stalled.inc({ work });
  }
}

/** What becomes of the Kubernetes events that this process records. */
export class EventMetrics {
  readonly #dropped: Counter;

  constructor(registry: Registry) {
    this.#dropped = new Counter({
      name: 'ingester_events_dropped_total',
      help: 'Kubernetes events that were not written because there were too many at once or the API server refused them',
      registers: [registry],
    });
  }

  dropped(): void {
    this.#dropped.inc();
  }
}
