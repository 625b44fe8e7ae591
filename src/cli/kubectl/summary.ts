import { type Command, Option } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { printResult } from '../print.ts';
import { cellText, itemsOf, textTable } from './output.ts';
import { withSession } from './session.ts';

export function addSummaryCommand(program: Command): void {
  program
    .command('summary')
    .description('every kind that you may list: how many objects are where, and up to when the store is complete')
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .action(async ({ output }: { readonly output: string }) => {
      await withSession(program, async ({ objects }) => {
        const summary = await objects.call({ path: '/summary' });
        printResult(output, summary, summaryText(itemsOf(summary)));
      });
    });
}

function summaryText(items: readonly JsonObject[]): string {
  const rows = items.map(({ kind, counts, lagSeconds }) => {
    const of = (state: string): string => cellText(isJsonObject(counts) ? (counts[state] ?? '') : '');
    const lag = typeof lagSeconds === 'number' ? `${Math.round(lagSeconds)} s ago` : 'unknown';
    return [cellText(kind), of('live'), of('evicted'), of('deleted'), lag];
  });
  return textTable([['KIND', 'LIVE', 'EVICTED', 'DELETED', 'COMPLETE'], ...rows], 'plain');
}
