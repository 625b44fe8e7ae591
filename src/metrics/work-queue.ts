import { Counter, exponentialBuckets, Gauge, type Registry } from 'prom-client';
import { HotHistogram, type HotSeries } from './histogram.ts';

const LABELS = ['name', 'controller'] as const;
const BUCKETS = exponentialBuckets(1e-8, 10, 12);
/** So that arbitrary priorities cannot make arbitrarily many time series. */
const MAX_PRIORITIES = 25;
const TOO_MANY = 'exceeded_cardinality_limit';

type QueueLabels = Readonly<Record<(typeof LABELS)[number], string>>;

/**
 * The metrics of every work queue of a process. Counts are plain numbers that are turned into samples when they are
 * scraped: a queue is far too hot for the label handling of a metrics library.
 */
export class WorkQueueMetricFamilies {
  readonly #queues: WorkQueueMetrics[] = [];
  readonly #waited: HotHistogram;
  readonly #worked: HotHistogram;

  constructor(registry: Registry) {
    const each = this.#queues;
    const histogram = (name: string, help: string): HotHistogram =>
      new HotHistogram(
        { name: `workqueue_${name}_duration_seconds`, help, labelNames: LABELS, buckets: BUCKETS },
        registry,
      );
    this.#waited = histogram('queue', 'How long in seconds an item stays in the work queue before it is requested');
    this.#worked = histogram('work', 'How long in seconds processing an item from the work queue takes');
    registerDepth(registry, each);
    registerCounter(registry, each, 'adds');
    registerCounter(registry, each, 'retries');
    registerHeld(registry, each, 'unfinished');
    registerHeld(registry, each, 'longest');
  }

  forQueue(name: string, controller: string): WorkQueueMetrics {
    const labels = { name, controller };
    const queue = new WorkQueueMetrics(labels, this.#waited.series(labels), this.#worked.series(labels));
    this.#queues.push(queue);
    return queue;
  }
}

export class WorkQueueMetrics {
  readonly labels: QueueLabels;
  readonly #waited: HotSeries;
  readonly #worked: HotSeries;
  /** Ready keys by the value of the priority label. */
  readonly depth: Map<string, number> = new Map<string, number>([['0', 0]]);
  readonly #priorityLabels = new Map([[0, '0']]);
  adds = 0;
  retries = 0;
  held: () => Iterable<number> = () => [];

  constructor(labels: QueueLabels, waited: HotSeries, worked: HotSeries) {
    this.labels = labels;
    this.#waited = waited;
    this.#worked = worked;
  }

  added(priority: number): void {
    this.adds += 1;
    this.#changeDepth(priority, 1);
  }

  moved(from: number, to: number): void {
    this.#changeDepth(from, -1);
    this.#changeDepth(to, 1);
  }

  taken(priority: number, waitedSeconds: number): void {
    this.#changeDepth(priority, -1);
    this.#waited.observe(waitedSeconds);
  }

  dropped(priority: number): void {
    this.#changeDepth(priority, -1);
  }

  finished(workedSeconds: number): void {
    this.#worked.observe(workedSeconds);
  }

  retried(): void {
    this.retries += 1;
  }

  watchHeld(seconds: () => Iterable<number>): void {
    this.held = seconds;
  }

  #changeDepth(priority: number, by: number): void {
    const label = this.#priorityLabel(priority);
    this.depth.set(label, (this.depth.get(label) ?? 0) + by);
  }

  /** Never changes for a priority, so that what was counted up under a label is counted down under it. */
  #priorityLabel(priority: number): string {
    const known = this.#priorityLabels.get(priority);
    if (known !== undefined) return known;
    if (this.#priorityLabels.size >= MAX_PRIORITIES) return TOO_MANY;
    const label = String(priority);
    this.#priorityLabels.set(priority, label);
    return label;
  }
}

function registerDepth(registry: Registry, queues: readonly WorkQueueMetrics[]): void {
  new Gauge({
    name: 'workqueue_depth',
    help: 'Current depth of the work queue by priority',
    labelNames: [...LABELS, 'priority'],
    registers: [registry],
    collect() {
      for (const { labels, depth } of queues) {
        for (const [priority, count] of depth) this.set({ ...labels, priority }, count);
      }
    },
  });
}

function registerCounter(registry: Registry, queues: readonly WorkQueueMetrics[], count: 'adds' | 'retries'): void {
  new Counter({
    name: `workqueue_${count}_total`,
    help: `Total number of ${count} handled by the work queue`,
    labelNames: LABELS,
    registers: [registry],
    collect() {
      this.reset();
      for (const queue of queues) this.inc(queue.labels, queue[count]);
    },
  });
}

const heldGauges = {
  unfinished: {
    name: 'workqueue_unfinished_work_seconds',
    help: 'How long, in total, work is in progress that has not been observed by work_duration; large: stuck workers',
    of: (seconds: readonly number[]): number => seconds.reduce((total, each) => total + each, 0),
  },
  longest: {
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How long the longest running worker of the work queue has been running',
    of: (seconds: readonly number[]): number => Math.max(0, ...seconds),
  },
};

function registerHeld(registry: Registry, queues: readonly WorkQueueMetrics[], which: keyof typeof heldGauges): void {
  const { name, help, of } = heldGauges[which];
  new Gauge({
    name,
    help,
    labelNames: LABELS,
    registers: [registry],
    collect() {
      for (const { labels, held } of queues) this.set(labels, of([...held()]));
    },
  });
}
