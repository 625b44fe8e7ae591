import type { Command } from 'commander';
import type { CloneReport } from '../storage/mysql/tasks/clone.ts';
import { durationOption } from './print.ts';
import { runTask, type TaskFlags, type TaskReport, taskCommand } from './task.ts';

interface CloneFlags extends TaskFlags {
  readonly createDatabase: boolean;
  readonly replaceDataOf?: string;
  readonly gateTimeout: number;
}

export function addCloneCommand(task: Command): void {
  const command = taskCommand(task, 'clone')
    .description('copy another metadata database into this one; in Development and Staging only')
    .option('--create-database', 'make the database first, where it is missing', false)
    .option('--replace-data-of <database>', 'the database whose content may be replaced, to show that it is meant')
    .addOption(durationOption('--gate-timeout <duration>', 'longest wait for writes under way', '1m'))
    .addHelpText(
      'after',
      '\nThe section clone of the configuration says what is copied, and clone.environment what this installation is. The\n' +
        'source is read as it was at one moment, and never written to. Objects of its cluster are evicted ones here, because\n' +
        'they are in no cluster of ours. A run that was killed begins anew. Then run "ingester task migrate".',
    );
  command.action((flags: CloneFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { runClone } = await import('../app/commands/clone.ts');
      const { attempt, gateHolder, replaceDataOf, gateTimeout: gateTimeoutMs } = flags;
      const database = flags.createDatabase ? 'create' : 'require';
      const run = { attempt, gateHolder, database, replaceDataOf, gateTimeoutMs, progress, signal } as const;
      return reportOf(await runClone(configuration, run));
    }),
  );
}

function reportOf(report: CloneReport): TaskReport {
  const { rows, excluded, resealed, evicted, postSql, schema } = report;
  const counts = Object.entries(rows).filter(([, count]) => count > 0);
  const text = [
    ...counts.map(([table, count]) => `${table}: ${count} objects.`),
    `${evicted} were in the source's cluster and are evicted here; ${excluded} were left out; ` +
      `${resealed} had sensitive values, which are sealed with our key, or masked without one.`,
    `${postSql} statements ran on the copy. Schema ${schema}.`,
  ];
  return { outcome: 'cloned', figures: report, text: text.join('\n') };
}
