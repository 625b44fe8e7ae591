import type { Command } from 'commander';
import type { MigrationReport } from '../storage/mysql/tasks/migrate.ts';
import { runTask, type TaskFlags, type TaskReport, taskCommand } from './task.ts';

interface MigrateFlags extends TaskFlags {
  readonly dryRun?: boolean;
  readonly createDatabase: boolean;
}

export function addMigrateCommand(task: Command): void {
  const command = taskCommand(task, 'migrate')
    .description("bring the database to this version's schema; needs a user that may create and alter tables")
    .option('--create-database', 'make the database first, where it is missing', false)
    .option('--dry-run', 'print the SQL that would run, and change nothing')
    .addHelpText(
      'after',
      '\nTables of the original are adopted with every row; stop its ingester first. Safe to run again, also after it was\n' +
        'killed. Exit code 3: the database was migrated by a newer version that this one does not suit.',
    );
  command.action((flags: MigrateFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { dryRunMigrate, runMigrate } = await import('../app/commands/migrate.ts');
      if (flags.dryRun === true) {
        const statements = await dryRunMigrate(configuration);
        return { outcome: 'planned', figures: { statements }, text: sqlText(statements), resultLine: 'json' };
      }
      const { attempt, gateHolder } = flags;
      const database = flags.createDatabase ? 'create' : 'require';
      return reportOf(await runMigrate(configuration, { attempt, gateHolder, database, progress, signal }));
    }),
  );
}

function sqlText(statements: readonly string[]): string {
  if (statements.length === 0) return '-- The schema is up to date.';
  return statements.map((statement) => `${statement.replace(/;\s*$/, '')};`).join('\n\n');
}

function reportOf(report: MigrationReport): TaskReport {
  const changed = report.applied.length + report.adopted.length > 0;
  return { outcome: changed ? 'migrated' : 'unchanged', figures: report, text: reportText(report) };
}

function reportText({ applied, adopted, warnings, schema }: MigrationReport): string {
  return [
    ...adopted.map(({ table, rows }) => `Adopted ${table}: ${rows} rows filled in.`),
    applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}.`,
    ...warnings.map((warning) => `Note: ${warning}.`),
    `Schema ${schema.version}.`,
  ].join('\n');
}
