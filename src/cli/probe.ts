import type { Command } from 'commander';
import { prepareCommand } from './prepare.ts';
import { durationOption, note, printText } from './print.ts';

interface Options {
  readonly namespace?: string;
  readonly timeout: number;
}

export function addProbeCommand(program: Command): void {
  program
    .command('probe')
    .description('wait until new objects are guarded: the dry run of a create must come back with the finalizer')
    .option('--namespace <name>', 'an existing namespace to try in, instead of that of the bundle')
    .addOption(durationOption('--timeout <duration>', 'give up after this; 0s: after one try', '1m'))
    .action((options: Options) => runProbeCommand(program, options));
}

async function runProbeCommand(program: Command, { namespace, timeout: timeoutMs }: Options): Promise<void> {
  const { runProbe } = await import('../app/commands/probe.ts');
  const { configuration, signal } = prepareCommand(program, 'probe');
  const progress = (reason: string): void => note(`Not yet: ${reason}\n`);
  const own = configuration.kubernetes.namespace;
  await runProbe(configuration, { namespace: namespace ?? own, timeoutMs, signal, progress });
  printText('New objects are guarded.\n');
}
