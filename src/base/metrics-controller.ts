import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { WorkQueueMetricFamilies, type WorkQueueMetrics } from './metrics-work-queue.ts';

const TIME_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** `requeue` is here for dashboards only: this runtime has no result of that name. */
const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;

interface Families {
  readonly total: Counter<'controller' | 'result'>;
  readonly errors: Counter<'controller'>;
  readonly terminalErrors: Counter<'controller'>;
  readonly panics: Counter<'controller'>;
  readonly timeouts: Counter<'controller'>;
  readonly seconds: Histogram<'controller'>;
  readonly workers: Gauge<'controller'>;
  readonly active: Gauge<'controller'>;
}

/** The metrics of every controller of a process and of their queues. */
export class ControllerMetricFamilies {
  readonly #queues: WorkQueueMetricFamilies;
  readonly #families: Families;

  constructor(registry: Registry) {
    this.#queues = new WorkQueueMetricFamilies(registry);
    const common = { labelNames: ['controller'] as const, registers: [registry] };
    const counter = (name: string, help: string): Counter<'controller'> =>
      new Counter({ ...common, name: `controller_runtime_${name}`, help });
    const gauge = (name: string, help: string): Gauge<'controller'> =>
      new Gauge({ ...common, name: `controller_runtime_${name}`, help });
    this.#families = {
      total: new Counter({
        name: 'controller_runtime_reconcile_total',
        help: 'Total number of reconciliations per controller and result',
        labelNames: ['controller', 'result'],
        registers: [registry],
      }),
      errors: counter('reconcile_errors_total', 'Total number of reconciliation errors per controller'),
      terminalErrors: counter('terminal_reconcile_errors_total', 'Total number of terminal reconciliation errors'),
      panics: counter('reconcile_panics_total', 'Total number of reconciliation panics per controller'),
      timeouts: counter('reconcile_timeouts_total', 'Total number of reconciliation timeouts per controller'),
      seconds: new Histogram({
        ...common,
        name: 'controller_runtime_reconcile_time_seconds',
        help: 'Length of time per reconciliation per controller',
        buckets: TIME_BUCKETS,
      }),
      workers: gauge('max_concurrent_reconciles', 'Maximum number of concurrent reconciles per controller'),
      active: gauge('active_workers', 'Number of currently used workers per controller'),
    };
  }

  forController(controller: string): PromControllerMetrics {
    return new PromControllerMetrics(controller, this.#families, this.#queues.forQueue(controller, controller));
  }
}

export class PromControllerMetrics {
  readonly queue: WorkQueueMetrics;
  readonly #labels: { readonly controller: string };
  readonly #families: Families;

  constructor(controller: string, families: Families, queue: WorkQueueMetrics) {
    this.queue = queue;
    this.#labels = { controller };
    this.#families = families;
    const { total, errors, terminalErrors, panics, timeouts, seconds, workers, active } = families;
    for (const result of RESULTS) total.inc({ controller, result }, 0);
    for (const counter of [errors, terminalErrors, panics, timeouts]) counter.inc(this.#labels, 0);
    for (const gauge of [workers, active]) gauge.set(this.#labels, 0);
    seconds.zero(this.#labels);
  }

  reconciled(result: 'success' | 'requeue_after' | 'error', seconds: number): void {
    this.#families.total.inc({ ...this.#labels, result });
    this.#families.seconds.observe(this.#labels, seconds);
    if (result === 'error') this.#families.errors.inc(this.#labels);
  }

  failedTerminally(): void {
    this.#families.terminalErrors.inc(this.#labels);
  }

  panicked(): void {
    this.#families.panics.inc(this.#labels);
  }

  timedOut(): void {
    this.#families.timeouts.inc(this.#labels);
  }

  workerStarted(): void {
    this.#families.active.inc(this.#labels);
  }

  workerFinished(): void {
    this.#families.active.dec(this.#labels);
  }

  maxConcurrentReconciles(count: number): void {
    this.#families.workers.set(this.#labels, count);
  }
}
