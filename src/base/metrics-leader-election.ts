import { Counter, Gauge, type Registry } from 'prom-client';

export class LeaderElectionMetrics {
  readonly #master: Gauge<'name'>;
  readonly #slowPath: Counter<'name'>;

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
