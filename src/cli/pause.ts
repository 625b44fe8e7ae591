import type { Command } from 'commander';
import { kindOf } from './kind.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { durationOption, printRaw, printResult, printText } from './print.ts';

export function addPauseCommand(program: Command): void {
  program
    .command('pause')
    .description('evict nothing until "ingester resume --eviction"; everything else goes on')
    .addOption(outputOption())
    .action((options: { readonly output: string }) => runPauseCommand(program, options.output));
}

async function runPauseCommand(program: Command, output: string): Promise<void> {
  const { configuration } = prepareCommand(program, 'pause');
  const { pauseEviction } = await import('../app/commands/control.ts');
  await pauseEviction(configuration, true);
  const text = 'Nothing is evicted until: ingester resume --eviction\n';
  printResult(output, { evictionPaused: true }, text);
}

interface Options {
  readonly eviction: boolean;
  readonly for: number;
  readonly output: string;
}

export function addResumeCommand(program: Command): void {
  program
    .command('resume [kinds...]')
    .description('let deletions go on that a breaker holds; all of them, or those of the kinds')
    .addOption(durationOption('--for <duration>', 'how long the breaker lets everything through', '1h'))
    .option('--eviction', 'end the pause of evictions instead', false)
    .addOption(outputOption())
    .action((kinds: readonly string[], options: Options) => runResumeCommand(program, kinds, options));
}

async function runResumeCommand(program: Command, words: readonly string[], options: Options): Promise<void> {
  const kinds = words.map((word) => kindOf(word).kind);
  const { configuration } = prepareCommand(program, 'resume');
  const { pauseEviction, resumeDeletions } = await import('../app/commands/control.ts');
  if (options.eviction) {
    await pauseEviction(configuration, false);
    printResult(options.output, { evictionPaused: false }, 'Evictions go on.\n');
    return;
  }
  const resumed = await resumeDeletions(configuration, { kinds, forMs: options.for });
  if (options.output === 'json') {
    printRaw(`${JSON.stringify({ resumed })}\n`);
    return;
  }
  const lines = resumed.map(({ kind, because, since }) => `${kind}: held since ${since}. ${because}`);
  printText(lines.length === 0 ? 'No breaker was open.\n' : `Deletions go on:\n${lines.join('\n')}\n`);
}
