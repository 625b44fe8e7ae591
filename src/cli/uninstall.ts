import type { Command } from 'commander';
import type { UninstallProgress, UninstallResult } from '../sync/uninstall/uninstall.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { durationOption, note, printResult } from './print.ts';

interface Options {
  readonly undo: boolean;
  readonly timeout: number;
  readonly output: string;
}

export function addUninstallCommand(program: Command): void {
  program
    .command('uninstall')
    .description('before the bundle is removed: admission off, then the finalizer off every object; rows stay')
    .addOption(durationOption('--timeout <duration>', 'give up after this, e.g. 10m; 0s: never', '0s'))
    .option('--undo', 'let the reconciler guard objects again; apply the manifests for admission', false)
    .addOption(outputOption())
    .action((options: Options) => runUninstallCommand(program, options));
}

async function runUninstallCommand(program: Command, { undo, timeout, output }: Options): Promise<void> {
  const { runUninstall, undoUninstall } = await import('../app/commands/uninstall.ts');
  const { configuration, signal } = prepareCommand(program, 'uninstall');
  if (undo) {
    await undoUninstall(configuration);
    printResult(
      output,
      { phase: 'active' },
      'The uninstall is undone. Apply the manifests of the bundle for admission.\n',
    );
    return;
  }
  const timeoutMs = timeout === 0 ? Number.POSITIVE_INFINITY : timeout;
  const result = await runUninstall(configuration, { progress, timeoutMs, signal });
  printResult(output, { phase: 'removable', ...result }, summary(result));
}

const progress: UninstallProgress = {
  note: (text) => note(`${text}\n`),
  finalizersRemoved: ({ kind }, finalizersRemoved, left) =>
    note(`${kind}: ${left} were guarded; ${finalizersRemoved} finalizers removed so far.\n`),
};

function summary({ finalizersRemoved, admissionRemoved, registrationsRemoved }: UninstallResult): string {
  const kinds = Object.entries(finalizersRemoved).map(([kind, count]) => `  ${kind}: ${count}\n`);
  const names = (removed: readonly string[]): string => removed.join(', ') || 'none was there';
  const lines = [`Admission removed: ${names(admissionRemoved)}`, `Query API removed: ${names(registrationsRemoved)}`];
  return `Finalizers removed:\n${kinds.join('')}${lines.join('\n')}\n`;
}
