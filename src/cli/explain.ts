import type { Command } from 'commander';
import type { ExplainReport } from '../app/commands/explain.ts';
import type { Change } from '../lifecycle/plan/changes.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('say what an Ingester resource is doing, why it waits and what would unblock it')
    .argument('[name]', 'name of the resource', 'ingester')
    .option('--with <file>', 'also say what applying this manifest would lead to; nothing is changed')
    .addOption(outputOption())
    .action(async (name: string, options: { readonly with?: string; readonly output: string }) => {
      const { runExplain } = await import('../app/commands/explain.ts');
      const { configuration, signal } = prepareCommand(program, 'explain');
      const { namespace } = program.opts<{ readonly namespace?: string }>();
      const report = await runExplain(configuration, { namespace, name, file: options.with, signal });
      printResult(options.output, report, explainText(report));
    });
}

export function explainText(report: ExplainReport): string {
  const { name, phase, doing, waitsFor, available, rollback, steps, changes, problems, dryRun } = report;
  const lines = [
    `${name} is ${phase}, ${doing}.`,
    `Waits for:  ${waitsFor}`,
    `Users:      ${available}`,
    `Way back:   ${rollback}`,
    ...(steps.length === 0 ? [] : [`To be done: ${steps.join(', ')}`]),
    ...problems.map((problem) => `Not valid:  ${problem}`),
    ...(changes.length === 0 ? [] : ['Asked for, against what runs:', ...changeLines(changes)]),
  ];
  if (dryRun === undefined) return `${lines.join('\n')}\n`;
  const { quiesces, steps: then, changes: more, problems: wrong } = dryRun;
  const outcome = [
    'With that manifest:',
    ...wrong.map((problem) => `  not valid: ${problem}`),
    ...(more.length === 0 ? ['  nothing changes'] : changeLines(more)),
    ...(then.length === 0 ? ['  no task runs'] : [`  tasks: ${then.join(', ')}`]),
    quiesces ? '  all components are removed while they run' : '  the components go on running',
  ];
  return `${[...lines, '', ...outcome].join('\n')}\n`;
}

function changeLines(changes: readonly Change[]): readonly string[] {
  return changes.map((change) => `  ${change.path} (${change.class})`);
}
