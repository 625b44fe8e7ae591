// get --watch: what a get prints, then each object again whenever it changes, until the user ends it.
import { setTimeout as delay } from 'node:timers/promises';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { type JsonObject, valueAt } from '../../base/json.ts';
import { ArgumentError } from '../errors.ts';
import { printColoured, printRaw } from '../print.ts';
import { customColumns } from './columns.ts';
import {
  type Format,
  isDocumentFormat,
  itemsOf,
  printDocument,
  showsColours,
  type TableOptions,
  tableRows,
  textTable,
  withHeads,
} from './output.ts';

/** After a watch that the server ended, as it does every hour. */
const BETWEEN_MS = 1000;

/** A watch is answered from the changes, and not by MySQL. */
const unwatchable = [
  ...['orderBy', 'sortBy', 'template', 'uid', 'limit', 'namePrefix', 'where', 'owner', 'ownedBy'],
  'annotationSelector',
] as const;
const times = ['createdAfter', 'createdBefore', 'updatedAfter', 'updatedBefore'] as const;

export function refuseUnwatchable(flags: Readonly<Record<string, unknown>>, kinds: number): void {
  if (kinds > 1) throw new ArgumentError('--watch takes one kind');
  const given = [...unwatchable, ...times].find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  const flag = given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new ArgumentError(`--${flag} does not go with --watch, which takes -l, --field-selector, --source and -o`);
}

export interface WatchAsked {
  readonly path: string;
  /** The same for the list and the watch. */
  readonly query: Readonly<Record<string, string>>;
  /** The pages of the list. */
  readonly pages: AsyncIterable<JsonObject>;
  readonly show: (page: JsonObject) => void;
  readonly form: 'object' | 'table';
}

export async function runWatch(objects: Pick<StoredObjects, 'watch'>, asked: WatchAsked): Promise<never> {
  const { path, query, pages, show, form } = asked;
  let after: string | undefined;
  for await (const page of pages) {
    // That of the first page: what changed while the others were read comes again.
    after ??= versionOf(page);
    show(page);
  }
  for (;;) {
    const from = after === undefined ? {} : { resourceVersion: after };
    const bookmarked = { ...query, ...from, allowWatchBookmarks: 'true' };
    for await (const change of objects.watch({ path, query: bookmarked, form })) {
      if (change.type === 'BOOKMARK') after = versionOf(change.object);
      else show(change.object);
    }
    await delay(BETWEEN_MS);
  }
}

function versionOf(document: JsonObject): string | undefined {
  const version = valueAt(document, ['metadata', 'resourceVersion']);
  return typeof version === 'string' && version !== '' ? version : undefined;
}

/** Prints pages of tables as one table: the head once, and columns that never get narrower. */
export function tablePrinter(
  options: TableOptions & { readonly heads: boolean },
  print: (text: string) => void = printColoured,
): (page: JsonObject) => void {
  const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
  return rowPrinter(options.heads, coloured, (page) => tableRows(page, options), print);
}

type Rows = (page: JsonObject) => { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

function rowPrinter(
  heads: boolean,
  coloured: 'coloured' | 'plain',
  rowsOf: Rows,
  print: (text: string) => void,
): (page: JsonObject) => void {
  let widths: readonly number[] = [];
  let wanted = heads;
  return (page) => {
    const { head, rows } = rowsOf(page);
    if (rows.length === 0) return;
    widths = head.map((_, column) =>
      Math.max(widths[column] ?? 0, ...[head, ...rows].map((row) => (row[column] ?? '').length)),
    );
    const padded = head.map((title, column) =>
      column === head.length - 1 ? title : title.padEnd(widths[column] ?? 0),
    );
    print(withHeads(textTable([padded, ...rows], coloured), wanted ? 'heads' : 'no-heads'));
    wanted = false;
  };
}

/** Prints each object by itself, as kubectl does for programs that read on. */
export function documentPrinter(
  format: Format,
  heads: boolean,
  print: (text: string) => void = printRaw,
): (page: JsonObject) => void {
  if (!isDocumentFormat(format)) {
    const columns = customColumns(format.slice('custom-columns='.length));
    const head = columns.map((column) => column.head);
    const rowsOf: Rows = (page) => ({
      head,
      rows: objectsOf(page).map((item) => columns.map(({ cell }) => cell(item))),
    });
    return rowPrinter(heads, 'plain', rowsOf, print);
  }
  let before = '';
  return (page) => {
    for (const item of objectsOf(page)) {
      print(`${before}${printDocument(item, format)}`);
      if (format === 'yaml') before = '---\n';
    }
  };
}

/** Those of a list, or the one of a change. */
function objectsOf(page: JsonObject): readonly JsonObject[] {
  return Array.isArray(page['items']) ? itemsOf(page) : [page];
}
