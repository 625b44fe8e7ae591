// Measures: npm run bench -- <name> [--json] [--objects=<number>]. A table for users; with --json the last line is one
// object. Fewer objects are for a slow machine.
import process from 'node:process';
import { admissionBench } from './admission.ts';
import { deletionBench } from './deletion.ts';
import { memoryBench } from './memory.ts';
import { queryBench } from './query.ts';
import type { Bench, BenchReport } from './report.ts';
import { runtimeBench } from './runtime.ts';
import { storageBench } from './storage.ts';
import { syncBench } from './sync.ts';

const benches: readonly Bench[] = [
  admissionBench,
  runtimeBench,
  storageBench,
  queryBench,
  syncBench,
  deletionBench,
  memoryBench,
];

class TableReport implements BenchReport {
  readonly figures: Record<string, number | null> = {};
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
    for (const [key, value] of Object.entries(this.figures)) this.note(`${key} = ${value ?? 'not measured'}`);
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const bench = benches.find(({ name }) => name === argv.find((argument) => !argument.startsWith('--')));
  const objects = argv.find((argument) => argument.startsWith('--objects='))?.slice('--objects='.length);
  if (bench === undefined || (objects !== undefined && !/^[1-9]\d*$/.test(objects))) {
    const names = benches.map(({ name }) => name).join('|');
    process.stderr.write(`Usage: npm run bench -- <${names}> [--json] [--objects=<number>]\n`);
    return 2;
  }
  const report = new TableReport();
  await bench.run(report, objects === undefined ? {} : { objects: Number(objects) });
  report.flush();
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify(report.figures)}\n`);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
