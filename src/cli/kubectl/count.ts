// Counts and figures over the objects of a kind, which MySQL makes: no object is read for them.
import { type Command, Option } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { figures } from '../../storage/aggregate.ts';
import { kindOf } from '../kind.ts';
import { note, printResult } from '../print.ts';
import {
  addFilterOptions,
  definedOf,
  type FilterFlags,
  filterQuery,
  listPath,
  nothingFound,
  wholeNumber,
} from './filters.ts';
import { cellText, itemsOf, textTable, withHeads } from './output.ts';
import { withSession } from './session.ts';

interface CountFlags extends FilterFlags {
  readonly by?: string;
  readonly min?: string;
  readonly max?: string;
  readonly p50?: string;
  readonly limit?: number;
  readonly approximate: boolean;
  readonly headers: boolean;
  readonly output: string;
}

const help = `
Examples:
  kubectl ingester count models -A --by metadata.namespace
  kubectl ingester count pipelineruns -n ml --by status.state,created.day --created-after=30d
  kubectl ingester count models -n ml --by spec.owner.name --max created --limit 10
  kubectl ingester count pipelineruns -A --by status.state --approximate
`;

export function addCountCommand(program: Command): void {
  addFilterOptions(program.command('count <kind>'))
    .description('count stored objects of a kind, in groups of equal values')
    .option('--by <fields>', 'up to two indexed fields; of a time its day or month: spec.algorithm,created.day')
    .option('--min <fields>', 'the smallest value of a number or a time in each group: created, spec.revisionId')
    .option('--max <fields>', 'the largest one')
    .option('--p50 <fields>', 'the median; of at most 100,000 objects')
    .option('--limit <number>', 'so many of the largest groups, at most 1000', wholeNumber)
    .option('--approximate', 'where there are many objects, look at a part of them and multiply', false)
    .option('--no-headers', 'tables without their heads')
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText('after', help)
    .action(async (kind: string, flags: CountFlags) => {
      const target = kindOf(kind);
      await withSession(program, async (session) => {
        const path = `${listPath(session, target, flags)}/-/aggregate`;
        const answer = await session.objects.call({ path, query: countQuery(flags) });
        const text = countText(answer, flags.headers ? 'heads' : 'no-heads');
        printResult(flags.output, answer, text);
        if (Number(answer['oneIn'] ?? 1) > 1)
          note(`Of each ${cellText(answer['oneIn'])} objects one was looked at; groups of few may be missing.\n`);
        if (text === '') note(nothingFound(session, flags));
        if (answer['truncated'] === true)
          note(`There are more groups than these ${String(flags.limit)}, the largest.\n`);
      });
    });
}

function countQuery(flags: CountFlags): Readonly<Record<string, string>> {
  const { by, min, max, p50, limit } = flags;
  const approximate = flags.approximate ? 'true' : undefined;
  return { ...filterQuery(flags), ...definedOf({ groupBy: by, min, max, p50, limit: limit?.toString(), approximate }) };
}

/** One line for each group: its values, how many objects it has, its figures. Empty where there is no group. */
export function countText(answer: JsonObject, heads: 'heads' | 'no-heads'): string {
  const items = itemsOf(answer);
  const [first] = items;
  if (first === undefined) return '';
  const namesIn = (part: string): readonly string[] => (isJsonObject(first[part]) ? Object.keys(first[part]) : []);
  const measured = figures.flatMap((figure) => namesIn(figure).map((name) => ({ figure, name })));
  const groups = namesIn('group');
  const rows = items.map((item) => [
    ...groups.map((name) => valueText(item['group'], name)),
    cellText(item['count']),
    ...measured.map(({ figure, name }) => valueText(item[figure], name)),
  ]);
  const head = [
    ...groups.map(headOf),
    'COUNT',
    ...measured.map(({ figure, name }) => `${figure.toUpperCase()} ${headOf(name)}`),
  ];
  return withHeads(textTable([head, ...rows], 'plain'), heads);
}

function headOf(name: string): string {
  return name.replace(/^(?:spec|status|metadata)\./, '').toUpperCase();
}

function valueText(part: unknown, name: string): string {
  const value = isJsonObject(part) ? part[name] : undefined;
  return value === null || value === undefined ? '<none>' : cellText(value).replace(/\.\d{6}Z$/, 'Z');
}
