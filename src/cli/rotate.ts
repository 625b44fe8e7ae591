import type { Command } from 'commander';
import type { RotateReport } from '../app/commands/rotate.ts';
import { runTask, type TaskFlags, type TaskReport, taskCommand } from './task.ts';

interface RotateFlags extends TaskFlags {
  readonly finish: boolean;
}

export function addRotateCommand(task: Command): void {
  const command = taskCommand(task, 'rotate')
    .description('make new database credentials valid beside the old ones, and seal values with the current key')
    .option('--finish', 'end the old credentials, once every program uses the new ones', false)
    .addHelpText(
      'after',
      '\nKeys: first give every reconciler the new key as encryption.keyFile and the old one as encryption.previousKeyFile.\n' +
        'Runs while others write, and goes on where it was killed. The old key may go when this has succeeded.\n' +
        'Credentials: give the new password as rotation.passwordFile and run this; put it into mysql.passwordFile of every\n' +
        'program; then run it with --finish. On MySQL the user has two passwords meanwhile; on MariaDB, or by choice, there\n' +
        'is a second user (rotation.user) with the same rights.',
    );
  command.action((flags: RotateFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { finishRotation, runRotate } = await import('../app/commands/rotate.ts');
      const { attempt, gateHolder } = flags;
      const run = { attempt, gateHolder, progress, signal };
      return reportOf(await (flags.finish ? finishRotation(configuration, run) : runRotate(configuration, run)));
    }),
  );
}

const credentialTexts: Readonly<Record<RotateReport['credentials'], readonly string[]>> = {
  added: ['The new credentials are valid beside the old ones.'],
  present: ['The new credentials were valid already, beside the old ones.'],
  ended: ['The old credentials are not valid any more.'],
  absent: ['The old credentials were not valid any more.'],
  none: [],
};

function reportOf(report: RotateReport): TaskReport {
  const { credentials, rows, changed } = report;
  const sealed = `${rows} rows, ${changed} sealed again. All are sealed with the current key.`;
  const text = [...credentialTexts[credentials], ...(rows > 0 || credentials === 'none' ? [sealed] : [])];
  const isChanged = changed > 0 || credentials === 'added' || credentials === 'ended';
  return { outcome: isChanged ? 'rotated' : 'unchanged', figures: report, text: text.join('\n') };
}
