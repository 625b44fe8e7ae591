import type { Command } from 'commander';
import type { GateState } from '../storage/mysql/tasks/gate-control.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { durationOption, note, printResult } from './print.ts';

interface CloseOptions {
  readonly holder: string;
  readonly reason: string;
  readonly timeout: number;
  readonly output: string;
}

const HOLDER = 'ingester gate';

export function addGateCommand(program: Command): void {
  const gate = program
    .command('gate')
    .description('the writer gate: while it is closed no process writes to the database')
    .addHelpText(
      'after',
      '\nWrites wait while it is closed, and deletions with them; nothing is lost. Readers are not affected. The gate is\n' +
        'closed under a name, and only that name opens it again: one that a task left closed is opened by running the task\n' +
        'again, or with --holder and the name that "ingester gate show" prints.',
    );
  gate
    .command('show')
    .description('show whether it is closed, its holder, the reason and the time')
    .addOption(outputOption())
    .action(async ({ output }: { readonly output: string }) => {
      const { runGateShow } = await import('../app/commands/gate.ts');
      print(output, await runGateShow(prepareCommand(program, 'gate').configuration));
    });
  gate
    .command('close')
    .description('stop all writers; returns when no write is under way any more')
    .option('--holder <name>', 'name of its holder', HOLDER)
    .option('--reason <text>', 'why, for "ingester gate show"', 'closed by hand')
    .addOption(durationOption('--timeout <duration>', 'give up when writes under way do not end within this', '1m'))
    .addOption(outputOption())
    .action((options: CloseOptions) => runClose(program, options));
  gate
    .command('open')
    .description('let writers write again')
    .option('--holder <name>', 'name of its holder', HOLDER)
    .addOption(outputOption())
    .action(async ({ holder, output }: { readonly holder: string; readonly output: string }) => {
      const { runGateOpen } = await import('../app/commands/gate.ts');
      print(output, await runGateOpen(prepareCommand(program, 'gate').configuration, holder));
    });
}

async function runClose(program: Command, { holder, reason, timeout, output }: CloseOptions): Promise<void> {
  const { runGateClose } = await import('../app/commands/gate.ts');
  const { configuration, signal } = prepareCommand(program, 'gate');
  const progress = (line: string): void => note(`${line}\n`);
  print(output, await runGateClose(configuration, { holder, reason, deadlineMs: timeout, signal, progress }));
}

function print(output: string, state: GateState): void {
  printResult(output, state, gateText(state));
}

function gateText({ state, holder, reason, since, schema, task }: GateState): string {
  const closed = `Closed by ${holder ?? '?'} since ${since ?? '?'}: ${reason ?? 'no reason was given'}.`;
  const lines = [
    state === 'open' ? 'Open: all processes may write.' : closed,
    `Schema ${schema.version}; programs that know schema ${schema.minWriter} or newer may write.`,
    ...(task === undefined ? [] : [`Last task: ${task.task}, attempt ${task.attempt}, ${task.state}.`]),
  ];
  return `${lines.join('\n')}\n`;
}
