import type { Command } from 'commander';
import type { DrainProgress, DrainResult } from '../sync/drain.ts';
import { durationOption } from './duration.ts';
import { outputOption, prepareCommand } from './prepare.ts';

interface Options {
  readonly undo: boolean;
  readonly timeout: number;
  readonly output: string;
}

export function addDrainCommand(program: Command): void {
  program
    .command('drain')
    .description('before the bundle is removed: admission off, then the finalizer off every object; rows stay')
    .option('--timeout <duration>', 'give up after this, e.g. 10m; 0s: never', durationOption, 0)
    .option('--undo', 'let the reconciler guard objects again; apply the manifests for admission', false)
    .addOption(outputOption())
    .action((options: Options) => runDrainCommand(program, options));
}

async function runDrainCommand(program: Command, { undo, timeout, output }: Options): Promise<void> {
  const { runDrain, undoDrain } = await import('../app/drain.ts');
  const { configuration, signal } = prepareCommand(program, 'drain');
  if (undo) {
    await undoDrain(configuration);
    print(output, { phase: 'active' }, 'The drain is undone. Apply the manifests of the bundle for admission.\n');
    return;
  }
  const timeoutMs = timeout === 0 ? Number.POSITIVE_INFINITY : timeout;
  const result = await runDrain(configuration, { progress, timeoutMs, signal });
  print(output, { phase: 'drained', ...result }, summary(result));
}

const progress: DrainProgress = {
  note: (text) => process.stderr.write(`${text}\n`),
  released: ({ kind }, released, left) =>
    process.stderr.write(`${kind}: ${left} were guarded; ${released} released so far.\n`),
};

function summary({ released, admissionRemoved }: DrainResult): string {
  const kinds = Object.entries(released).map(([kind, count]) => `  ${kind}: ${count}\n`);
  return `Released objects:\n${kinds.join('')}Admission removed: ${admissionRemoved.join(', ') || 'none was there'}\n`;
}

function print(format: string, result: object, text: string): void {
  process.stdout.write(format === 'json' ? `${JSON.stringify(result)}\n` : text);
}
