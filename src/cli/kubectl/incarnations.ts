import type { Command } from 'commander';
import { printColoured, printRaw } from '../print.ts';
import { historyText } from './describe.ts';
import { NothingStoredUnderNameError } from './errors.ts';
import { type Format, formatOption, itemsOf, printDocument, showsColours } from './output.ts';
import { objectPath, oneObject, withSession } from './session.ts';

export function addIncarnationsCommand(program: Command): void {
  program
    .command('incarnations <kind> [name]')
    .alias('history')
    .description('every object that ever had the name, the newest first')
    .addOption(formatOption())
    .action(async (kind: string, name: string | undefined, { output }: { readonly output: Format }) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const list = await objects.call({ path: `${objectPath(target.kind, namespace, target.name)}/incarnations` });
        const items = itemsOf(list);
        if (items.length === 0)
          throw new NothingStoredUnderNameError(`${target.kind.kind} ${namespace}/${target.name}`);
        const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
        if (output === 'table' || output === 'wide') printColoured(historyText(items, coloured));
        else printRaw(printDocument(list, output));
      });
    });
}
