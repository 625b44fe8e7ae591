import { type Command, Option } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { printResult } from '../print.ts';
import { cellText } from './output.ts';
import { objectPath, oneObject, withSession } from './session.ts';

interface Flags {
  readonly uid?: string;
  readonly dryRun: boolean;
  readonly output: 'text' | 'json';
}

export function addRestoreObjectCommand(program: Command): void {
  program
    .command('restore <kind> [name]')
    .description('put an evicted or deleted object back into the cluster')
    .option('--uid <uid>', 'this incarnation; else the evicted one, else the one deleted last')
    .option('--dry-run', 'ask whether it would work, and create nothing', false)
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (kind: string, name: string | undefined, { uid, dryRun, output }: Flags) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const path = `${objectPath(target.kind, namespace, target.name)}/restore`;
        const body = { dryRun, ...(uid === undefined ? {} : { uid }) };
        const result = await objects.call({ method: 'POST', path, body });
        const what = `${target.kind.kind} ${namespace}/${target.name}`;
        printResult(output, result, resultText(what, result));
      });
    });
}

function resultText(what: string, { outcome, uid, restoredFrom, missing, dropped }: JsonObject): string {
  const as = typeof uid === 'string' ? ` as uid ${uid}` : '';
  const lines = [`${what} ${cellText(outcome)}${as}, from uid ${cellText(restoredFrom)}.`];
  if (Array.isArray(missing) && missing.length > 0) {
    lines.push(`Set by hand, MySQL never had it: ${missing.map(cellText).join(', ')}`);
  }
  if (Array.isArray(dropped) && dropped.length > 0) {
    lines.push(`Left out, it may point to what is gone: ${dropped.map(cellText).join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}
