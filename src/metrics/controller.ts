import { Counter, Gauge, type Registry } from 'prom-client';
import { HotHistogram, type HotSeries } from './histogram.ts';
import { WorkQueueMetricFamilies, type WorkQueueMetrics } from './work-queue.ts';

const TIME_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

const RESULTS = ['success', 'error', 'requeue_after'] as const;

type Result = (typeof RESULTS)[number];

/** Counts of a controller beside its results. */
type Count = 'errors' | 'terminalErrors' | 'panics' | 'timeouts' | 'workers' | 'active';

/**
 * The metrics of every controller of a process and of their queues. As in the queue, counts are plain numbers until
 * they are scraped.
 */
export class ControllerMetricFamilies {
  readonly #queues: WorkQueueMetricFamilies;
  readonly #controllers: PromControllerMetrics[] = [];
  readonly #seconds: HotHistogram;

  constructor(registry: Registry) {
    this.#queues = new WorkQueueMetricFamilies(registry);
    const each = this.#controllers;
    registerResults(registry, each);
    const counter = (count: Count, name: string, help: string): void =>
      registerCount(registry, each, { count, name, help });
    counter('errors', 'reconcile_errors_total', 'Total number of reconciliation errors per controller');
    counter('terminalErrors', 'terminal_reconcile_errors_total', 'Total number of terminal reconciliation errors');
    counter('panics', 'reconcile_panics_total', 'Total number of reconciliation panics per controller');
    counter('timeouts', 'reconcile_timeouts_total', 'Total number of reconciliation timeouts per controller');
    const gauge = (count: Count, name: string, help: string): void =>
      registerGauge(registry, each, { count, name, help });
    gauge('workers', 'max_concurrent_reconciles', 'Maximum number of concurrent reconciles per controller');
    gauge('active', 'active_workers', 'Number of currently used workers per controller');
    const help = 'Length of time per reconciliation per controller';
    const name = 'controller_runtime_reconcile_time_seconds';
    this.#seconds = new HotHistogram({ name, help, labelNames: ['controller'], buckets: TIME_BUCKETS }, registry);
  }

  /** The same ones for the same name: a controller that is made anew goes on counting. */
  forController(controller: string): PromControllerMetrics {
    const known = this.#controllers.find((each) => each.controller === controller);
    if (known !== undefined) return known;
    const queue = this.#queues.forQueue(controller, controller);
    const metrics = new PromControllerMetrics(controller, queue, this.#seconds.series({ controller }));
    this.#controllers.push(metrics);
    return metrics;
  }
}

export class PromControllerMetrics {
  readonly controller: string;
  readonly queue: WorkQueueMetrics;
  readonly #seconds: HotSeries;
  readonly results: Record<Result, number> = { success: 0, error: 0, requeue_after: 0 };
  errors = 0;
  terminalErrors = 0;
  panics = 0;
  timeouts = 0;
  workers = 0;
  active = 0;

  constructor(controller: string, queue: WorkQueueMetrics, seconds: HotSeries) {
    this.controller = controller;
    this.queue = queue;
    this.#seconds = seconds;
  }

  reconciled(result: Result, seconds: number): void {
    this.results[result] += 1;
    this.#seconds.observe(seconds);
    if (result === 'error') this.errors += 1;
  }

  failedTerminally(): void {
    this.terminalErrors += 1;
  }

  panicked(): void {
    this.panics += 1;
  }

  timedOut(): void {
    this.timeouts += 1;
  }

  workerStarted(): void {
    this.active += 1;
  }

  workerFinished(): void {
    this.active -= 1;
  }

  maxConcurrentReconciles(count: number): void {
    this.workers = count;
  }
}

type Controllers = readonly PromControllerMetrics[];

function registerResults(registry: Registry, controllers: Controllers): void {
  new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller and result',
    labelNames: ['controller', 'result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { controller, results } of controllers) {
        for (const result of RESULTS) this.inc({ controller, result }, results[result]);
      }
    },
  });
}

interface CountMetric {
  readonly count: Count;
  readonly name: string;
  readonly help: string;
}

function registerCount(registry: Registry, controllers: Controllers, { count, name, help }: CountMetric): void {
  new Counter({
    name: `controller_runtime_${name}`,
    help,
    labelNames: ['controller'],
    registers: [registry],
    collect() {
      this.reset();
      for (const each of controllers) this.inc({ controller: each.controller }, each[count]);
    },
  });
}

function registerGauge(registry: Registry, controllers: Controllers, { count, name, help }: CountMetric): void {
  new Gauge({
    name: `controller_runtime_${name}`,
    help,
    labelNames: ['controller'],
    registers: [registry],
    collect() {
      for (const each of controllers) this.set({ controller: each.controller }, each[count]);
    },
  });
}
