import { type Command, Option } from 'commander';
import { durationOption } from './duration.ts';
import { prepareCommand } from './prepare.ts';
import { note, printText } from './print.ts';

interface Options {
  readonly namespace: string;
  readonly timeout: number;
}

export function addProbeCommand(program: Command): void {
  program
    .command('probe')
    .description('wait until new objects are guarded: the dry run of a create must come back with the finalizer')
    .addOption(
      new Option('--namespace <name>', 'an existing namespace to try in')
        .env('INGESTER_PROBE_NAMESPACE')
        .default('ingester-system'),
    )
    .option('--timeout <duration>', 'give up after this; 0s: after one try', durationOption, 60_000)
    .action((options: Options) => runProbeCommand(program, options));
}

async function runProbeCommand(program: Command, { namespace, timeout }: Options): Promise<void> {
  const { runProbe } = await import('../app/probe.ts');
  const { configuration, signal } = prepareCommand(program, 'probe');
  const progress = (reason: string): void => note(`Not yet: ${reason}\n`);
  await runProbe(configuration, { namespace, timeoutMs: timeout, signal, progress });
  printText('New objects are guarded.\n');
}
