import type { Command } from 'commander';
import type { DrainProgress, DrainResult } from '../sync/drain.ts';
import { durationOption } from './duration.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { note, printResult } from './print.ts';

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
    printResult(output, { phase: 'active' }, 'The drain is undone. Apply the manifests of the bundle for admission.\n');
    return;
  }
  const timeoutMs = timeout === 0 ? Number.POSITIVE_INFINITY : timeout;
  const result = await runDrain(configuration, { progress, timeoutMs, signal });
  printResult(output, { phase: 'drained', ...result }, summary(result));
}

const progress: DrainProgress = {
  note: (text) => note(`${text}\n`),
  released: ({ kind }, released, left) => note(`${kind}: ${left} were guarded; ${released} released so far.\n`),
};

function summary({ released, admissionRemoved, registrationsRemoved }: DrainResult): string {
  const kinds = Object.entries(released).map(([kind, count]) => `  ${kind}: ${count}\n`);
  const names = (removed: readonly string[]): string => removed.join(', ') || 'none was there';
  const lines = [`Admission removed: ${names(admissionRemoved)}`, `Query API removed: ${names(registrationsRemoved)}`];
  return `Released objects:\n${kinds.join('')}${lines.join('\n')}\n`;
}
