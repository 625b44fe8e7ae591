import { type Command, Option } from 'commander';
import type { StoredCall } from '../../app/commands/stored-objects.ts';
import { humanDuration } from '../../base/human-duration.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { ArgumentError } from '../errors.ts';
import { KINDS } from '../kind.ts';
import { note, printColoured, printRaw, printResult } from '../print.ts';
import { pathTemplate, sortedBy } from './columns.ts';
import {
  addFilterOptions,
  collect,
  definedOf,
  type FilterFlags,
  filterQuery,
  listPath,
  nothingFound,
  wholeNumber,
} from './filters.ts';
import {
  cellText,
  chosenText,
  type Format,
  formatOption,
  isDocumentFormat,
  itemsOf,
  printDocument,
  showsColours,
  tableRows,
  textTable,
  withHeads,
} from './output.ts';
import { startProgress } from './progress.ts';
import { kindAndName, objectPath, type Session, withSession } from './session.ts';
import { documentPrinter, refuseUnwatchable, runWatch, tablePrinter } from './watch.ts';

export interface GetFlags extends FilterFlags {
  readonly output: Format;
  readonly orderBy?: string;
  readonly sortBy?: string;
  readonly headers: boolean;
  readonly showLabels: boolean;
  readonly template?: string;
  readonly param: readonly string[];
  readonly uid?: string;
  readonly limit?: number;
  readonly minResourceVersion?: string;
  readonly watch: boolean;
}

/** Objects of one request: a list of any length comes in pieces, so that the user sees progress. */
const CHUNK = 500;

export function addGetCommand(program: Command): void {
  addFilterOptions(program.command('get [kinds] [name]'))
    .description('list stored objects of a kind, or of several (models,pipelines), live and evicted, or show one')
    .option('--order-by <fields>', 'indexed fields, joined by commas; - before one for descending')
    .option('--sort-by <path>', 'JSONPath of the value to sort by, after all are read: .spec.algorithm')
    .option('--no-headers', 'tables without their heads')
    .option('--show-labels', 'a column with the labels', false)
    .option('--template <id>', 'a named query of the kind; its parameters with --param')
    .option('--param <name=value>', 'a parameter of the named query; may be repeated', collect, [])
    .option('--uid <uid>', 'this incarnation')
    .option('--limit <number>', 'at most so many', wholeNumber)
    .option('--min-resource-version <version>', 'wait until the store is at least as new')
    .option('-w, --watch', 'then print each object again whenever it changes, until you end it', false)
    .addOption(formatOption())
    .action(async (kinds: string | undefined, name: string | undefined, flags: GetFlags) => {
      if (kinds === undefined) throw new ArgumentError(`Say which kinds: ${KINDS}`);
      const targets = kinds.split(',').map((kind) => kindAndName(kind, name));
      if (targets.length > 1 && targets.some((target) => target.name !== undefined)) {
        throw new ArgumentError('Several kinds are listed without a name');
      }
      await withSession(program, (session) => runGet(session, targets, flags));
    });
}

interface Target {
  readonly kind: KindName;
  readonly name: string | undefined;
}

async function runGet(session: Session, targets: readonly Target[], flags: GetFlags): Promise<void> {
  if (flags.watch) return watchTarget(session, targets, flags);
  const asked = targets.map(({ kind, name }): Printing => {
    const path = name === undefined ? listPath(session, kind, flags) : objectPath(kind, session.namespace, name);
    const prefix = targets.length > 1 ? `${kind.kind.toLowerCase()}.stored.michelangelo.api/` : '';
    return { path, query: queryOf(flags, name), flags, name, prefix };
  });
  if (flags.output === 'table' || flags.output === 'wide') await printTables(session, asked, flags);
  else await printDocuments(session, asked, flags);
}

/** Of a name too, the list is watched: it may come, go and come again. */
async function watchTarget(session: Session, targets: readonly Target[], flags: GetFlags): Promise<void> {
  refuseUnwatchable({ ...flags, template: flags.template ?? flags.param[0] }, targets.length);
  const [target] = targets;
  if (target === undefined) return;
  const { kind, name } = target;
  if (name !== undefined && (flags.allNamespaces || flags.fieldSelector !== undefined)) {
    throw new ArgumentError('One object is watched by its name, in one namespace and without --field-selector');
  }
  const named = name === undefined ? flags : { ...flags, fieldSelector: `metadata.name=${name}` };
  const path = listPath(session, kind, flags);
  const form = flags.output === 'table' || flags.output === 'wide' ? 'table' : 'object';
  const pages = pagesOf(session, { path, query: queryOf(named, undefined), flags, name: undefined, prefix: '' }, form);
  const options = { wide: flags.output === 'wide', namespaces: flags.allNamespaces, labels: flags.showLabels };
  const show =
    form === 'table'
      ? tablePrinter({ ...options, heads: flags.headers })
      : documentPrinter(flags.output, flags.headers);
  await runWatch(session.objects, { path, query: filterQuery(named), pages, show, form });
}

function queryOf(flags: GetFlags, name: string | undefined): Readonly<Record<string, string>> {
  const { uid, minResourceVersion } = flags;
  // Sorting looks at whole objects, also of a table.
  const includeObject = flags.sortBy === undefined ? undefined : 'Object';
  const one = definedOf({ uid, minResourceVersion, includeObject });
  if (name !== undefined) return one;
  const { orderBy, template } = flags;
  const parameters = flags.param.map((text) => {
    const [key = '', ...value] = text.split('=');
    if (value.length === 0) throw new ArgumentError(`--param ${text.slice(0, 100)} is not name=value`);
    return [`param.${key}`, value.join('=')] as const;
  });
  return { ...one, ...filterQuery(flags), ...definedOf({ orderBy, template }), ...Object.fromEntries(parameters) };
}

interface Printing extends Pick<StoredCall, 'path'> {
  readonly query: Readonly<Record<string, string>>;
  readonly flags: GetFlags;
  readonly name: string | undefined;
  /** Before each name in a table, where there are several kinds. */
  readonly prefix: string;
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

async function printTables(session: Session, asked: readonly Printing[], flags: GetFlags): Promise<void> {
  let printed = 0;
  for (const printing of asked) {
    const pages = pagesOf(session, printing, 'table');
    const inPieces = printing.flags.sortBy === undefined ? pages : [await sortedPage(pages, printing.flags.sortBy)];
    if (await printTable(inPieces, printing, printed > 0 ? '\n' : '')) printed += 1;
  }
  if (printed === 0) note(nothingFound(session, flags));
}

/** Whether there was anything to print. */
async function printTable(
  pages: AsyncIterable<JsonObject> | Iterable<JsonObject>,
  { flags, name, prefix }: Printing,
  before: string,
): Promise<boolean> {
  const namespaces = flags.allNamespaces && name === undefined;
  const options = { wide: flags.output === 'wide', namespaces, labels: flags.showLabels, prefix };
  const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
  let printed = false;
  for await (const page of pages) {
    const table = tableRows(page, options);
    if (table.rows.length === 0) continue;
    // The head comes once; columns of later pages may be wider.
    const heads = printed || !flags.headers ? 'no-heads' : 'heads';
    printColoured(`${printed ? '' : before}${withHeads(textTable([table.head, ...table.rows], coloured), heads)}`);
    printed = true;
  }
  return printed;
}

/** All pages as one, in the order of a value of their objects. */
async function sortedPage(pages: AsyncIterable<JsonObject>, path: string): Promise<JsonObject> {
  let definitions: JsonObject = {};
  const rows: JsonObject[] = [];
  for await (const page of pages) {
    definitions = page;
    rows.push(...(Array.isArray(page['rows']) ? page['rows'].filter(isJsonObject) : []));
  }
  return { ...definitions, rows: [...sortedBy(`.object${pathTemplate(path).slice(1, -1)}`, rows)] };
}

async function printDocuments(session: Session, asked: readonly Printing[], flags: GetFlags): Promise<void> {
  const { output, sortBy } = flags;
  const [{ name } = { name: undefined }] = asked;
  // One object, and names, are printed as they come; a list is one document.
  const comes = name !== undefined || (output === 'name' && sortBy === undefined);
  const items: JsonObject[] = [];
  for (const printing of asked) {
    for await (const page of pagesOf(session, printing, 'object')) {
      if (comes && isDocumentFormat(output)) printRaw(printDocument(page, output));
      else items.push(...itemsOf(page));
    }
  }
  if (!comes || !isDocumentFormat(output)) printItems(sortBy === undefined ? items : sortedBy(sortBy, items), flags);
}

function printItems(items: readonly JsonObject[], { output, headers }: GetFlags): void {
  if (!isDocumentFormat(output)) printColoured(chosenText(items, output, headers ? 'heads' : 'no-heads'));
  else printRaw(printDocument({ apiVersion: 'v1', kind: 'List', metadata: {}, items: [...items] }, output));
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
    const lag = typeof lagSeconds === 'number' ? `${humanDuration(lagSeconds * 1000)} ago` : 'unknown';
    return [cellText(kind), of('live'), of('evicted'), of('deleted'), lag];
  });
  return textTable([['KIND', 'LIVE', 'EVICTED', 'DELETED', 'COMPLETE'], ...rows], 'plain');
}
