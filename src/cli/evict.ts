import { type Command, Option } from 'commander';
import type { EvictReport } from '../app/commands/evict.ts';
import { kindOption } from './kind.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

interface Options {
  readonly kind: readonly string[];
  readonly namespace?: string;
  readonly dryRun: boolean;
  readonly output: string;
}

const SAMPLE = 10;

export function addEvictCommand(program: Command): void {
  program
    .command('evict')
    .description('evict what the rules of the configuration choose now')
    .addOption(new Option('--kind <kind...>', 'only these kinds').argParser(kindOption).default([], 'all'))
    .option('-n, --namespace <namespace>', 'only this namespace; keepLast then counts only what is there')
    .option('--dry-run', 'only say how many objects the rules choose, with a sample', false)
    .addOption(outputOption())
    .action((options: Options) => runEvictCommand(program, options));
}

async function runEvictCommand(program: Command, options: Options): Promise<void> {
  const { configuration, logger, signal } = prepareCommand(program, 'evict');
  const { runEvict } = await import('../app/commands/evict.ts');
  const request = { kinds: options.kind, namespace: options.namespace, dryRun: options.dryRun };
  const reports = await runEvict(configuration, request, { logger, signal });
  const { config } = program.opts<{ readonly config?: string }>();
  printResult(options.output, evictJson(reports), evictText(reports, options, config));
}

function evictJson(reports: readonly EvictReport[]): object {
  return reports.map(({ kind, chosen, results }) => ({
    ...{ kind, count: chosen.length, sample: chosen.slice(0, SAMPLE), results },
  }));
}

function evictText(reports: readonly EvictReport[], { dryRun }: Options, config: string | undefined): string {
  if (reports.length === 0) {
    const where = config === undefined ? 'No configuration file is named (--config), so there' : `In ${config} there`;
    return `${where} is no eviction rule for these kinds (eviction.rules); no server was asked, and nothing is evicted.\n`;
  }
  const lines = reports.flatMap(({ kind, chosen, results }) => [
    `${kind}: the rules choose ${chosen.length} ${chosen.length === 1 ? 'object' : 'objects'}.`,
    ...chosen
      .slice(0, dryRun ? SAMPLE : 0)
      .map(({ namespace, name, rule }) => `  ${namespace}/${name} by the rule "${rule}"`),
    ...(dryRun && chosen.length > SAMPLE ? [`  and ${chosen.length - SAMPLE} more`] : []),
    ...results.map(
      ({ namespace, name, outcome, reason }) =>
        `  ${namespace}/${name} ${outcome}${reason === undefined ? '' : `: ${reason}`}`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}
