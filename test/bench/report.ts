/** What a bench tells. Users read the lines and the table; machines read the figures. */
export interface BenchReport {
  /** One line of progress or explanation. */
  note(text: string): void;
  /** One row of the table that `flush` prints; the first row decides the columns. */
  row(cells: Readonly<Record<string, string | number>>): void;
  /** One number of the last line of `--json`; undefined where it could not be measured. */
  figure(key: string, value: number | undefined): void;
}

export interface BenchSize {
  /** Objects to work with where a bench can be made smaller; its targets are for its own number. */
  readonly objects?: number;
}

export interface Bench {
  readonly name: string;
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

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
