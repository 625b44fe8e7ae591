import { type Command, InvalidArgumentError, Option } from 'commander';
import type { StoredCall } from '../../app/commands/stored-objects.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { ArgumentError } from '../errors.ts';
import { note, printColoured, printRaw, printResult } from '../print.ts';
import {
  cellText,
  type Format,
  formatOption,
  itemsOf,
  printDocument,
  showsColours,
  tableRows,
  textTable,
} from './output.ts';
import { startProgress } from './progress.ts';
import { kindAndName, objectPath, type Session, withSession } from './session.ts';

export interface GetFlags {
  readonly output: Format;
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly source: string;
  readonly owner?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly orderBy?: string;
  readonly template?: string;
  readonly param: readonly string[];
  readonly uid?: string;
  readonly limit?: number;
  readonly minResourceVersion?: string;
}

/** Objects of one request: a list of any length comes in pieces, so that the user sees progress. */
const CHUNK = 500;

export function addGetCommand(program: Command): void {
  program
    .command('get <kind> [name]')
    .description('list stored objects, live and evicted, or show one')
    .option('-A, --all-namespaces', 'in every namespace that you may list', false)
    .option('-l, --selector <selector>', "labels, as with kubectl get: 'team in (a,b),!old'")
    .option('--field-selector <selector>', 'indexed fields: spec.algorithm=xgboost')
    .option('--source <source>', 'present (live and evicted), live, evicted, deleted or all', 'present')
    .option('--owner <name>', 'who owns a model, a pipeline or a revision, who started a run')
    .option('--created-after <time>', 'in UTC, such as 2026-01-31T12:00:00Z; --created-before ends the range')
    .option('--created-before <time>', 'in UTC')
    .option('--order-by <fields>', 'indexed fields, joined by commas; - before one for descending')
    .option('--template <id>', 'a named query of the kind; its parameters with --param')
    .option('--param <name=value>', 'a parameter of the named query; may be repeated', collect, [])
    .option('--uid <uid>', 'this incarnation')
    .option('--limit <number>', 'at most so many', wholeNumber)
    .option('--min-resource-version <version>', 'wait until the store is at least as new')
    .addOption(formatOption())
    .action(async (kind: string, name: string | undefined, flags: GetFlags) => {
      const target = kindAndName(kind, name);
      await withSession(program, (session) => runGet(session, target, flags));
    });
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 on.');
  return Number(text);
}

async function runGet(
  session: Session,
  { kind, name }: { readonly kind: KindName; readonly name: string | undefined },
  flags: GetFlags,
): Promise<void> {
  const query = queryOf(flags, name);
  const path = name === undefined ? listPath(session, kind, flags) : objectPath(kind, session.namespace, name);
  if (flags.output === 'table' || flags.output === 'wide') await printTable(session, { path, query, flags, name });
  else await printDocuments(session, { path, query, flags, name });
}

function listPath({ namespace }: Session, { plural }: KindName, { allNamespaces }: GetFlags): string {
  return allNamespaces ? `/${plural}` : `/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

function queryOf(flags: GetFlags, name: string | undefined): Readonly<Record<string, string>> {
  const { uid, minResourceVersion } = flags;
  const one = definedOf({ uid, minResourceVersion });
  if (name !== undefined) return one;
  const { source, owner, createdAfter, createdBefore, orderBy, template, selector, fieldSelector } = flags;
  const parameters = flags.param.map((text) => {
    const [key = '', ...value] = text.split('=');
    if (value.length === 0) throw new ArgumentError(`--param ${text.slice(0, 100)} is not name=value`);
    return [`param.${key}`, value.join('=')] as const;
  });
  const asked = {
    source,
    owner,
    createdAfter,
    createdBefore,
    orderBy,
    template,
    labelSelector: selector,
    fieldSelector,
  };
  return { ...one, ...definedOf(asked), ...Object.fromEntries(parameters) };
}

function definedOf(parts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(parts).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

interface Printing extends Pick<StoredCall, 'path'> {
  readonly query: Readonly<Record<string, string>>;
  readonly flags: GetFlags;
  readonly name: string | undefined;
}

async function* pagesOf(
  { objects }: Session,
  { path, query, flags, name }: Printing,
  form: 'object' | 'table',
): AsyncGenerator<JsonObject, void> {
  if (name !== undefined) {
    yield await objects.call({ path, query, form });
    return;
  }
  let left = flags.limit ?? Number.POSITIVE_INFINITY;
  let position: string | undefined;
  const progress = startProgress(process.stderr, 'objects');
  try {
    do {
      const chunk = { limit: String(Math.min(CHUNK, left)), ...(position === undefined ? {} : { continue: position }) };
      const page = await objects.call({ path, query: { ...query, ...chunk }, form });
      const { rows, items } = page;
      const count = [rows, items].find(Array.isArray)?.length ?? 0;
      left -= count;
      progress.add(count);
      yield page;
      const next = (page['metadata'] as JsonObject | undefined)?.['continue'];
      position = typeof next === 'string' && next !== '' ? next : undefined;
    } while (position !== undefined && left > 0);
  } finally {
    progress.end();
  }
}

async function printTable(session: Session, printing: Printing): Promise<void> {
  const { flags, name } = printing;
  const options = { wide: flags.output === 'wide', namespaces: flags.allNamespaces && name === undefined };
  const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
  let head: readonly string[] | undefined;
  for await (const page of pagesOf(session, printing, 'table')) {
    const table = tableRows(page, options);
    if (table.rows.length === 0) continue;
    const text = textTable([table.head, ...table.rows], coloured);
    // The head comes once; columns of later pages may be wider.
    printColoured(head === undefined ? text : text.slice(text.indexOf('\n') + 1));
    head = table.head;
  }
  if (head === undefined) note('No objects are stored that are asked for.\n');
}

async function printDocuments(session: Session, printing: Printing): Promise<void> {
  const { flags, name } = printing;
  const format = flags.output as Exclude<Format, 'table' | 'wide'>;
  const items: JsonObject[] = [];
  for await (const page of pagesOf(session, printing, 'object')) {
    if (name !== undefined || format === 'name') printRaw(printDocument(page, format));
    else items.push(...(page['items'] as JsonObject[]));
  }
  if (name !== undefined || format === 'name') return;
  printRaw(printDocument({ apiVersion: 'v1', kind: 'List', metadata: {}, items }, format));
}

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
