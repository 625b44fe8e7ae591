// Measures: npm run bench -- <name> [--json] [--objects=<number>] [--svg=<file>]. A table for users; with --json the last
// line is one object, with --svg the file gets a chart. Fewer objects are for a slow machine.
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { admissionBench } from './admission.ts';
import { chartOf } from './chart.ts';
import { deletionBench } from './deletion.ts';
import { memoryBench } from './memory.ts';
import { queryBench } from './query.ts';
import { replicasBench } from './replicas.ts';
import { type Bar, type Bench, type BenchReport, median, rounded, spread } from './report.ts';
import { runtimeBench } from './runtime.ts';
import { scaleBench } from './scale.ts';
import { storageBench } from './storage.ts';
import { syncBench } from './sync.ts';
import { delayedSyncBench } from './sync-delayed.ts';
import { largeSyncBench } from './sync-large.ts';
import { tracesBench } from './traces.ts';
import { vitessBench } from './vitess.ts';

const benches: readonly Bench[] = [
  admissionBench,
  runtimeBench,
  storageBench,
  queryBench,
  syncBench,
  delayedSyncBench,
  largeSyncBench,
  deletionBench,
  memoryBench,
  replicasBench,
  scaleBench,
  tracesBench,
  vitessBench,
];

class TableReport implements BenchReport {
  readonly figures: Record<string, number | null> = {};
  readonly bars: Bar[] = [];
  readonly #spreads: Record<string, string> = {};
  readonly #rows: Readonly<Record<string, string | number>>[] = [];

  note(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Shown at once as well: a bench takes minutes. */
  row(cells: Readonly<Record<string, string | number>>): void {
    this.#rows.push(cells);
    const parts = Object.entries(cells).map(([column, value], index) => (index === 0 ? value : `${column} ${value}`));
    process.stderr.write(`${parts.join(', ')}\n`);
  }

  figure(key: string, value: number | undefined): void {
    this.figures[key] = value ?? null;
  }

  rounds(key: string, values: readonly number[], digits = 2): void {
    this.figure(key, rounded(median(values), digits));
    this.#spreads[key] = ` (${spread(values, digits)} in ${values.length} rounds)`;
  }

  bar(bar: Bar): void {
    this.bars.push(bar);
  }

  flush(): void {
    const columns = [...new Set(this.#rows.flatMap((row) => Object.keys(row)))];
    const lines = [columns, ...this.#rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
    const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
    for (const line of lines) {
      const cells = line.map((cell, index) =>
        index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0),
      );
      this.note(cells.join('  '));
    }
    for (const [key, value] of Object.entries(this.figures))
      this.note(`${key} = ${value ?? 'not measured'}${this.#spreads[key] ?? ''}`);
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const bench = benches.find(({ name }) => name === argv.find((argument) => !argument.startsWith('--')));
  const option = (name: string): string | undefined =>
    argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
  const [objects, svg] = [option('objects'), option('svg')];
  if (bench === undefined || (objects !== undefined && !/^[1-9]\d*$/.test(objects)) || svg === '') {
    const names = benches.map(({ name }) => name).join('|');
    process.stderr.write(`Usage: npm run bench -- <${names}> [--json] [--objects=<number>] [--svg=<file>]\n`);
    return 2;
  }
  const report = new TableReport();
  await bench.run(report, objects === undefined ? {} : { objects: Number(objects) });
  report.flush();
  if (svg !== undefined) writeChart(svg, bench, report.bars);
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify(report.figures)}\n`);
  return 0;
}

function writeChart(file: string, { name, chart = '' }: Bench, bars: readonly Bar[]): void {
  if (bars.length === 0) process.stderr.write(`The bench ${name} draws no chart; ${file} was not written.\n`);
  else writeFileSync(file, chartOf(chart, bars));
}

process.exitCode = await main(process.argv.slice(2));
