import type { Command } from 'commander';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

export function addPauseCommand(program: Command): void {
  program
    .command('pause')
    .description('evict nothing until "ingester resume --eviction"; everything else goes on')
    .addOption(outputOption())
    .action((options: { readonly output: string }) => runPauseCommand(program, options.output));
}

async function runPauseCommand(program: Command, output: string): Promise<void> {
  const { configuration } = prepareCommand(program, 'pause');
  const { pauseEviction } = await import('../app/control.ts');
  await pauseEviction(configuration, true);
  const text = 'Nothing is evicted until: ingester resume --eviction\n';
  printResult(output, { evictionPaused: true }, text);
}
