import { type Command, Option } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { ArgumentError } from '../errors.ts';
import { printResult } from '../print.ts';
import { addSelectionOptions, filterQuery, type SelectionFlags } from './filters.ts';
import { cellText } from './output.ts';
import { restoreSelected } from './restore-selected.ts';
import { kindAndName, objectPath, withSession } from './session.ts';

interface Flags extends SelectionFlags {
  readonly uid?: string;
  readonly source: 'evicted' | 'deleted';
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly output: 'text' | 'json';
}

const help = `
Without a name, everything in the namespace that the selectors find is restored, 1000 objects at most: of each name the newest that is
evicted, or deleted with --source=deleted.

Examples:
  kubectl ingester restore model m1 -n ml --dry-run
  kubectl ingester restore models -n ml -l team=a --dry-run
  kubectl ingester restore pipelineruns -n ml --source=deleted --updated-after=1h --yes
`;

export function addRestoreObjectCommand(program: Command): void {
  addSelectionOptions(program.command('restore <kind> [name]'))
    .description('put an evicted or deleted object back into the cluster, or all that a selector finds')
    .addOption(
      new Option('--source <source>', 'where a selector looks').choices(['evicted', 'deleted']).default('evicted'),
    )
    .option('--yes', 'do not ask before what a selector finds is restored', false)
    .option('--uid <uid>', 'this incarnation; else the evicted one, else the one deleted last')
    .option('--dry-run', 'ask whether it would work, and create nothing', false)
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .addHelpText('after', help)
    .action(async (first: string, second: string | undefined, flags: Flags) => {
      const { kind, name } = kindAndName(first, second);
      const { source: _, ...query } = filterQuery(flags);
      const selects = Object.keys(query).length > 0;
      if (name !== undefined) {
        if (selects || flags.source === 'deleted' || flags.yes) throw new ArgumentError(NAME_OR_SELECTOR);
        return restoreOne(program, { kind, name }, flags);
      }
      if (flags.uid !== undefined) throw new ArgumentError('--uid belongs to a name');
      if (!selects) throw new ArgumentError(`Name the ${kind.kind}, or select with -l, --field-selector or --where`);
      await withSession(program, ({ objects, namespace }) =>
        restoreSelected(objects, { kind, namespace, query: { ...query, source: flags.source } }, flags),
      );
    });
}

const NAME_OR_SELECTOR = 'Give a name or a selector, not both; --source and --yes belong to a selector';

async function restoreOne(
  program: Command,
  { kind, name }: { readonly kind: KindName; readonly name: string },
  { uid, dryRun, output }: Flags,
): Promise<void> {
  await withSession(program, async ({ objects, namespace }) => {
    const path = `${objectPath(kind, namespace, name)}/restore`;
    const body = { dryRun, ...(uid === undefined ? {} : { uid }) };
    const result = await objects.call({ method: 'POST', path, body });
    printResult(output, result, resultText(`${kind.kind} ${namespace}/${name}`, result));
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
