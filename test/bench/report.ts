/** What a bench tells. Users read the lines and the table; machines read the figures. */
export interface BenchReport {
  /** One line of progress or explanation. */
  note(text: string): void;
  /** One row of the table that `flush` prints; the first row decides the columns. */
  row(cells: Readonly<Record<string, string | number>>): void;
  /** One number of the last line of `--json`; undefined where it could not be measured. */
  figure(key: string, value: number | undefined): void;
  /** A figure that is the median of rounds; the least and the most of them are told with it. */
  rounds(key: string, values: readonly number[], digits?: number): void;
  /** One bar of the chart that `--svg` draws. */
  bar(bar: Bar): void;
}

export interface Bar {
  /** Bars of one group stand together. */
  readonly group: string;
  /** Bars of one series have one colour. */
  readonly series: string;
  /** Of each round; the bar is as long as their median. */
  readonly values: readonly number[];
}

export interface BenchSize {
  /** Objects to work with where a bench can be made smaller; its targets are for its own number. */
  readonly objects?: number;
}

export interface Bench {
  readonly name: string;
  /** Title of the chart, where it draws one. */
  readonly chart?: string;
  run(report: BenchReport, size: BenchSize): Promise<void>;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which this share of the values lies; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * The same of what a histogram has observed between two looks, as Prometheus has it: evenly spread within a bucket. Both are
 * counts up to each bound.
 */
export function bucketQuantile(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
  share: number,
): number {
  const counts = [...after]
    .map(([bound, count]) => ({ bound, count: count - (before.get(bound) ?? 0) }))
    .toSorted((left, right) => left.bound - right.bound);
  const rank = (counts.at(-1)?.count ?? 0) * share;
  const index = counts.findIndex(({ count }) => count >= rank);
  const [low, high] = [counts[index - 1] ?? { bound: 0, count: 0 }, counts[index]];
  if (rank === 0 || high === undefined) return Number.NaN;
  if (!Number.isFinite(high.bound)) return low.bound;
  return low.bound + ((high.bound - low.bound) * (rank - low.count)) / (high.count - low.count);
}

/** `0.46 to 0.52`; the value alone where there is only one. */
export function spread(values: readonly number[], digits = 2): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => String(rounded(value, digits)));
  return least === most ? String(least) : `${least} to ${most}`;
}

/**
 * What each work gives in each round. They take turns, and go the other way about in every second round, so that what else
 * the machine does meets them alike.
 */
export async function inTurns<K extends string, T>(
  rounds: number,
  works: Readonly<Record<K, (round: number) => Promise<T>>>,
): Promise<Readonly<Record<K, readonly T[]>>> {
  const names = Object.keys(works) as K[];
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<K, T[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) results[name].push(await works[name](round));
  }
  return results;
}

/** Of each round. */
export function ratios(left: readonly number[], right: readonly number[]): readonly number[] {
  return left.map((value, round) => value / (right[round] ?? Number.NaN));
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
