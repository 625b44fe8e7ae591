import type { Command } from 'commander';
import { ArgumentError } from './errors.ts';
import { kindOf } from './kind.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printRaw, printText } from './print.ts';

interface Options {
  readonly uid?: string;
  readonly dryRun: boolean;
  readonly output: string;
}

export function addRestoreCommand(program: Command): void {
  program
    .command('restore <kind> <namespace/name>')
    .description('put an evicted or deleted object back into the cluster')
    .option('--uid <uid>', 'this incarnation; else the evicted one, else the one deleted last')
    .option('--dry-run', 'ask the API server whether it would work, and create nothing', false)
    .addOption(outputOption())
    .action((kind: string, name: string, options: Options) => runRestoreCommand(program, [kind, name], options));
}

async function runRestoreCommand(
  program: Command,
  [word, key]: readonly [string, string],
  options: Options,
): Promise<void> {
  const { kind } = kindOf(word);
  const [namespace, name, ...rest] = key.split('/');
  if (namespace === undefined || namespace === '' || name === undefined || name === '' || rest.length > 0)
    throw new ArgumentError(`"${key}" is not namespace/name`);
  const { configuration } = prepareCommand(program, 'restore');
  const { runRestore } = await import('../app/commands/restore.ts');
  const { uid, dryRun } = options;
  const restored = await runRestore(configuration, { kind, namespace, name, uid, dryRun });
  if (options.output === 'json') {
    printRaw(`${JSON.stringify({ kind, namespace, name, ...restored })}\n`);
    return;
  }
  const as = restored.uid === undefined ? '' : ` as uid ${restored.uid}`;
  const lines = [`${kind} ${key} ${restored.outcome}${as}, from uid ${restored.restoredFrom}.`];
  if (restored.missing.length > 0) lines.push(`Set by hand, MySQL never had it: ${restored.missing.join(', ')}`);
  if (restored.dropped.length > 0) lines.push(`Left out, it may point to what is gone: ${restored.dropped.join(', ')}`);
  printText(`${lines.join('\n')}\n`);
}
