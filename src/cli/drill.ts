import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Drill, KindDrill } from '../app/commands/drill.ts';
import { DrillFailedError } from '../sync/errors.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { note, printResult } from './print.ts';

const MOST = 1000;
/** Printed of each kind; the json output has them all. */
const SHOWN = 5;

export function addDrillCommand(program: Command): void {
  program
    .command('drill')
    .description('rehearse a disaster: could the configured database take over now? exit code 1 where not')
    .addOption(
      new Option('--sample <number>', 'evicted objects of each kind whose restore the API server is asked about')
        .argParser(sampleOption)
        .default(5),
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nRestore a backup into a database of its own and name that one in the configuration, for example with\n' +
        'INGESTER_MYSQL_DATABASE. Every row is read and compared with the cluster. Nothing is written to either side.',
    )
    .action((options: { readonly sample: number; readonly output: string }) => runDrillCommand(program, options));
}

function sampleOption(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > MOST) throw new InvalidArgumentError(`expected a whole number from 0 to ${MOST}`);
  return value;
}

async function runDrillCommand(
  program: Command,
  { sample, output }: { readonly sample: number; readonly output: string },
): Promise<void> {
  const { runDrill } = await import('../app/commands/drill.ts');
  const { configuration, signal } = prepareCommand(program, 'drill');
  const progress = (line: string): void => note(`${line}\n`);
  const drill = await runDrill(configuration, { sample, signal, progress });
  printResult(output, drill, drillText(drill));
  const failed = drill.kinds.reduce(
    (sum, { unreadable, notRestorable }) => sum + unreadable.length + notRestorable.length,
    0,
  );
  if (failed > 0) throw new DrillFailedError(failed);
}

function drillText({ completeUpTo, kinds, seconds }: Drill): string {
  const upTo =
    completeUpTo === undefined
      ? 'No reconciler ever noted that this database was complete.'
      : `Complete up to ${completeUpTo}: what was evicted or deleted later is not in it.`;
  return `${[upTo, ...kinds.flatMap(kindLines), `Read and compared in ${seconds} s.`].join('\n')}\n`;
}

function kindLines({ kind, objects, storedAgain, ended, unreadable, restorable, notRestorable }: KindDrill): string[] {
  if (objects === undefined) return [`${kind}: its CRD is not in this cluster`];
  const tried = restorable + notRestorable.length;
  const facts = [
    `${objects} objects in the cluster, ${storedAgain} of them to be stored again`,
    `${ended} rows would end`,
    tried === 0 ? 'nothing evicted' : `${restorable} of ${tried} evicted objects could be restored`,
  ];
  return [
    `${kind}: ${facts.join('; ')}`,
    ...listed('cannot be read', unreadable),
    ...listed('could not be restored', notRestorable),
  ];
}

function listed(what: string, all: readonly string[]): string[] {
  if (all.length === 0) return [];
  const more = all.length > SHOWN ? [`    and ${all.length - SHOWN} more; -o json lists all`] : [];
  return [`  ${all.length} ${what}:`, ...all.slice(0, SHOWN).map((line) => `    ${line}`), ...more];
}
