import type { Command } from 'commander';
import type { InitReport } from '../app/commands/init.ts';
import { createLogger } from '../base/logger.ts';
import { runTask, type TaskFlags, type TaskReport, taskCommand } from './task.ts';

export function addInitCommand(task: Command): void {
  const command = taskCommand(task, 'init')
    .description('create what is missing, store and guard every object of the cluster, and prove that both sides agree')
    .addHelpText(
      'after',
      '\nTables that are missing are made, which needs the rights of the migrator; otherwise those of the reconciler are\n' +
        'enough. Columns, labels and annotations that do not follow from their objects are filled in. Objects without a row\n' +
        'get one, objects without the finalizer get it. Runs beside reconcilers, and running it again changes nothing. Exit\n' +
        'code 1 where something still differs: "ingester audit" says what.',
    );
  command.action((flags: TaskFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { runInit } = await import('../app/commands/init.ts');
      const logger = createLogger(configuration.log.level, 'init', 'stderr');
      const { attempt, gateHolder } = flags;
      return reportOf(await runInit(configuration, { attempt, gateHolder, progress, signal, logger }));
    }),
  );
}

function reportOf(report: InitReport): TaskReport {
  const { applied, backfilled, repaired, skipped, objects, rows } = report;
  const repairs = Object.entries(repaired);
  const changed = applied.length + backfilled + repairs.length > 0;
  const text = [
    ...(applied.length === 0 ? [] : [`Applied: ${applied.join(', ')}.`]),
    ...(backfilled === 0 ? [] : [`${backfilled} rows filled in.`]),
    ...repairs.map(([finding, count]) => `Repaired: ${count} ${finding}.`),
    ...(skipped.length === 0 ? [] : [`Not compared, because their CRD is missing: ${skipped.join(', ')}.`]),
    `MySQL and the cluster agree: ${objects} objects, ${rows} rows.`,
  ];
  return { outcome: changed ? 'initialized' : 'unchanged', figures: report, text: text.join('\n') };
}
