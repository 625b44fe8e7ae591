import { type Command, InvalidArgumentError } from 'commander';
import type { RestoreSnapshotReport } from '../storage/mysql/tasks/restore-snapshot.ts';
import type { SnapshotReport } from '../storage/mysql/tasks/snapshot.ts';
import type { Snapshot } from '../storage/mysql/tasks/snapshot-store.ts';
import { outputOption, prepareTask } from './prepare.ts';
import { durationOption, printResult } from './print.ts';
import { runTask, type TaskFlags, type TaskReport, taskCommand } from './task.ts';

interface SnapshotFlags extends TaskFlags {
  readonly id?: string;
  readonly reason: string;
  readonly keep?: number;
  readonly referenced: readonly string[];
  readonly gateTimeout: number;
}

interface RestoreFlags extends TaskFlags {
  readonly replaceDataOf?: string;
  readonly discardNewer: boolean;
  readonly gateTimeout: number;
}

const SNAPSHOT_ID = /^[a-z0-9][a-z0-9-]{0,31}$/;

export function addSnapshotCommand(task: Command): void {
  const command = taskCommand(task, 'snapshot')
    .description('take a verified snapshot of the database, as a point to go back to')
    .option('--id <id>', 'its name; the time unless given', snapshotId)
    .option('--reason <text>', 'what it is for', 'taken by hand')
    .option('--keep <number>', 'snapshots to keep; snapshots.keep unless given', keepOption)
    .option('--referenced <ids...>', 'snapshots that stay whatever their age', [])
    .addOption(durationOption('--gate-timeout <duration>', 'longest wait for writes under way', '1m'))
    .addHelpText(
      'after',
      '\nWriters wait while it is taken. It lies in snapshots.database on the same server: it is for going back after an\n' +
        'upgrade, and no protection against losing the server.',
    );
  command.action((flags: SnapshotFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { runSnapshot } = await import('../app/commands/snapshot.ts');
      const { attempt, gateHolder, id, reason, keep, referenced, gateTimeout } = flags;
      const run = { attempt, gateHolder, id, reason, keep, referenced, gateTimeoutMs: gateTimeout, progress, signal };
      return snapshotReport(await runSnapshot(configuration, run));
    }),
  );
}

export function addRestoreSnapshotCommand(task: Command): void {
  const command = taskCommand(task, 'restore-snapshot')
    .argument('<id>', 'see "ingester snapshots list"')
    .description('put the database back to a snapshot, its schema included')
    .option('--replace-data-of <database>', 'the database whose content is replaced, to show that it is meant')
    .option('--discard-newer', 'also where objects that are in the database only would be lost', false)
    .addOption(durationOption('--gate-timeout <duration>', 'longest wait for writes under way', '1m'))
    .addHelpText(
      'after',
      '\nStop reconcilers first: they know newer versions than the rows will have, and compare at their start. Objects that\n' +
        'are in the cluster are stored again by them; what was deleted or evicted after the snapshot is in the database only,\n' +
        'so it is refused to go back behind that. Everything is copied and compared before anything is replaced.',
    );
  command.action((id: string, flags: RestoreFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { runRestoreSnapshot } = await import('../app/commands/snapshot.ts');
      const { attempt, gateHolder, replaceDataOf, discardNewer, gateTimeout: gateTimeoutMs } = flags;
      const newer = discardNewer ? 'discard' : 'refuse';
      const run = { attempt, gateHolder, id, replaceDataOf, newer, gateTimeoutMs, progress, signal } as const;
      return restoreReport(await runRestoreSnapshot(configuration, run));
    }),
  );
}

export function addSnapshotsCommand(program: Command): void {
  const snapshots = program.command('snapshots').description('the snapshots of the database');
  snapshots
    .command('list')
    .description('all of them, the oldest first')
    .addOption(outputOption())
    .action(async ({ output }: { readonly output: string }) => {
      const { runListSnapshots } = await import('../app/commands/snapshot.ts');
      const all = await runListSnapshots(
        prepareTask(program.opts<{ readonly config?: string }>().config, 'snapshots').configuration,
      );
      printResult(output, { snapshots: all }, listText(all));
    });
  snapshots
    .command('remove')
    .argument('<id>')
    .description('remove one, whatever refers to it')
    .addOption(outputOption())
    .action(async (id: string, { output }: { readonly output: string }) => {
      const { runRemoveSnapshot } = await import('../app/commands/snapshot.ts');
      await runRemoveSnapshot(
        prepareTask(program.opts<{ readonly config?: string }>().config, 'snapshots').configuration,
        snapshotId(id),
      );
      printResult(output, { removed: id }, `Snapshot ${id} is gone.\n`);
    });
}

function snapshotId(text: string): string {
  if (!SNAPSHOT_ID.test(text)) throw new InvalidArgumentError('expected up to 32 lower-case letters, digits and -');
  return text;
}

function keepOption(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('expected a number from 1 to 999');
  return Number(text);
}

function snapshotReport(report: SnapshotReport): TaskReport {
  const { snapshot, rows, tables, schema, dropped } = report;
  const gone = dropped.length === 0 ? '' : `\nRetention let go: ${dropped.join(', ')}.`;
  const text = `Snapshot ${snapshot}: ${rows} rows of ${tables.length} tables, schema ${schema.version}, compared.${gone}`;
  return { outcome: 'taken', figures: report, text };
}

function restoreReport(report: RestoreSnapshotReport): TaskReport {
  const { snapshot, rows, schema, discarded } = report;
  const lost = Object.entries(discarded).map(([table, count]) => `Discarded: ${count} ended objects of ${table}.`);
  const text = [`The database is that of snapshot ${snapshot}: ${rows} rows, schema ${schema.version}.`, ...lost];
  return { outcome: 'restored', figures: report, text: text.join('\n') };
}

function listText(snapshots: readonly Snapshot[]): string {
  if (snapshots.length === 0) return 'There is none.\n';
  const lines = snapshots.map(({ id, createdAt, state, schema, tables, reason }) => {
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    return `${id}  ${createdAt.slice(0, 19)}Z  ${state}  schema ${schema.version}  ${rows} rows  ${reason}`;
  });
  return `${lines.join('\n')}\n`;
}
