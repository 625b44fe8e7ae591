// Which kinds have most, and which change most: from the summary, and from counts that MySQL makes.
import { type Command, Option } from 'commander';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { isJsonObject } from '../../base/json.ts';
import { note, printResult } from '../print.ts';
import { timeBefore } from './filters.ts';
import { cellText, itemsOf, textTable, withHeads } from './output.ts';
import { withSession } from './session.ts';

const orders = ['rows', 'live', 'evicted', 'deleted', 'created', 'changed'] as const;
type Order = (typeof orders)[number];

interface TopFlags {
  readonly sortBy: Order;
  readonly headers: boolean;
  readonly output: string;
}

const help = `
CREATED and CHANGED are of the last 24 hours: how many objects were created, and of how many MySQL took a state.

Examples:
  kubectl ingester top
  kubectl ingester top --sort-by changed
`;

/** What a kind has. */
export interface TopKind extends Readonly<Record<Order, number>> {
  readonly kind: string;
  readonly plural: string;
}

export function addTopCommand(program: Command): void {
  program
    .command('top')
    .description('the kinds that you may list, those with most rows first, and what was created and changed in a day')
    .addOption(new Option('--sort-by <column>', 'the largest first').choices(orders).default('rows'))
    .option('--no-headers', 'the table without its head')
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText('after', help)
    .action(async ({ sortBy, headers, output }: TopFlags) => {
      await withSession(program, async ({ objects }) => {
        const kinds = sorted(await topKinds(objects, new Date()), sortBy);
        printResult(output, { items: kinds }, topText(kinds, headers ? 'heads' : 'no-heads'));
        if (kinds.length === 0) note('Nothing is stored that you may list.\n');
      });
    });
}

/** One kind after another, so that a user does not use up what one may ask. Kinds without rows are left out. */
export async function topKinds(objects: Pick<StoredObjects, 'call'>, now: Date): Promise<readonly TopKind[]> {
  const since = timeBefore('1d', now) ?? '';
  const found: TopKind[] = [];
  for (const { kind, plural, counts } of itemsOf(await objects.call({ path: '/summary' }))) {
    const of = (state: string): number => numberIn(counts, state);
    const [live, evicted, deleted] = [of('live'), of('evicted'), of('deleted')];
    const rows = live + evicted + deleted;
    if (rows === 0) continue;
    const path = `/${cellText(plural)}/-/aggregate`;
    const after = async (parameter: string): Promise<number> => {
      const answer = await objects.call({ path, query: { source: 'all', [parameter]: since } });
      return numberIn(itemsOf(answer)[0], 'count');
    };
    const [created, changed] = [await after('createdAfter'), await after('updatedAfter')];
    found.push({ kind: cellText(kind), plural: cellText(plural), rows, live, evicted, deleted, created, changed });
  }
  return found;
}

function numberIn(part: unknown, name: string): number {
  const value = isJsonObject(part) ? part[name] : undefined;
  return typeof value === 'number' ? value : 0;
}

function sorted(kinds: readonly TopKind[], by: Order): readonly TopKind[] {
  return kinds.toSorted((left, right) => right[by] - left[by] || (left.kind < right.kind ? -1 : 1));
}

export function topText(kinds: readonly TopKind[], heads: 'heads' | 'no-heads'): string {
  if (kinds.length === 0) return '';
  const rows = kinds.map((each) => [each.kind, ...orders.map((order) => String(each[order]))]);
  return withHeads(textTable([['KIND', ...orders.map((order) => order.toUpperCase())], ...rows], 'plain'), heads);
}
