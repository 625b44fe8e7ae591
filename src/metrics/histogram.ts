import type { Metric, Registry } from 'prom-client';

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, rising. */
  readonly buckets: readonly number[];
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram for what happens tens of thousands of times a second: an observation is an addition, and samples are made
 * when they are scraped. The library's own histogram looks up and checks its labels with each observation.
 */
export class HotHistogram {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly upperBounds: readonly number[];
  readonly #series: HotSeries[] = [];
  readonly #byLabels = new Map<string, HotSeries>();

  constructor({ name, help, labelNames, buckets }: HistogramOptions, registry: Registry) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.upperBounds = buckets;
    // The registry asks for nothing but the name and `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Zero from now on; the same ones for the same labels. */
  series(labels: Labels): HotSeries {
    const name = JSON.stringify(labels);
    const known = this.#byLabels.get(name);
    if (known !== undefined) return known;
    const series = new HotSeries(labels, this.upperBounds);
    this.#series.push(series);
    this.#byLabels.set(name, series);
    return series;
  }

  get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return Promise.resolve({
      name,
      help,
      type,
      aggregator,
      values: this.#series.flatMap((each) => each.samples(name)),
    });
  }
}

export class HotSeries {
  readonly #labels: Labels;
  readonly #buckets: readonly number[];
  /** Observations by the first bucket that they fit into; the last is of those that fit into none. */
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Labels, buckets: readonly number[]) {
    this.#labels = labels;
    this.#buckets = buckets;
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let index = 0;
    while (value > (this.#buckets[index] ?? Number.POSITIVE_INFINITY)) index += 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** Buckets count everything up to their bound. */
  samples(name: string): readonly Sample[] {
    let count = 0;
    const buckets = this.#counts.map((each, index) => {
      count += each;
      const le = this.#buckets[index] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...this.#labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.#labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.#labels, value: count },
    ];
  }
}
