// Lists of any length: pages are read one by one and written as they come, so that memory does not grow with the list.
import type { KindDefinition } from '../api/kind.ts';
import type { JsonObject } from '../base/json.ts';
import type { ListQuery } from '../storage/list-query.ts';
import type { ListPage, MetadataStorage, StoredObject } from '../storage/metadata-storage.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { Shape } from './negotiate.ts';
import { presentMetadataOnly, presentObject } from './present.ts';
import { columnDefinitions, type IncludeObject, rowMaker } from './table.ts';

export interface ListAnswer {
  readonly kind: KindDefinition;
  readonly shape: Shape;
  readonly includeObject: IncludeObject;
  /** Position of the store, the list's resourceVersion. */
  readonly resourceVersion: string;
  /** Objects that were passed over. */
  readonly offset?: number;
  readonly now: Date;
}

/** Objects of one page of the database; fewer after a page of large objects, more after one of small ones. */
const FIRST_PAGE = 32;
const SMALLEST_PAGE = 2;
const LARGEST_PAGE = 500;
/** What a page shall have, so that many requests together need little memory. */
const PAGE_BYTES = 1024 * 1024;

/** Everything large: what is only counted is not read. */
const bulk = ['spec', 'status', 'metadata.labels', 'metadata.annotations'];

/** Where to go on after so many objects: nothing for the beginning, `end` where there are no more. */
export async function tokenAfter(
  storage: Pick<MetadataStorage, 'list'>,
  kind: KindDefinition,
  query: ListQuery,
  offset: number,
): Promise<Pick<ListQuery, 'continue'> | 'end'> {
  let position: Pick<ListQuery, 'continue'> = query.continue === undefined ? {} : { continue: query.continue };
  for (let left = offset; left > 0; left -= LARGEST_PAGE) {
    const limit = Math.min(left, LARGEST_PAGE);
    const page = await storage.list(kind, { ...query, ...position, limit, skip: bulk, count: 'no' });
    if (page.continue === undefined) return 'end';
    position = { continue: page.continue };
  }
  return position;
}

interface PageOptions {
  /** Objects in all; undefined: everything. */
  readonly limit: number | undefined;
  /** Bounds the time of each read. */
  readonly within: (work: Promise<ListPage>) => Promise<ListPage>;
}

/** Pages of the query. The first is read before anything is written. */
export async function* readPages(
  storage: Pick<MetadataStorage, 'list'>,
  kind: KindDefinition,
  query: ListQuery,
  { limit, within }: PageOptions,
): AsyncGenerator<ListPage, void> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  let size = FIRST_PAGE;
  let position = query.continue;
  for (;;) {
    const next = { ...query, limit: Math.min(size, left), ...(position === undefined ? {} : { continue: position }) };
    const page = await within(storage.list(kind, next));
    left -= page.items.length;
    yield page;
    position = page.continue;
    if (position === undefined || left <= 0) return;
    size = nextSize(size, page.items);
  }
}

function nextSize(size: number, items: readonly StoredObject[]): number {
  const bytes = items.reduce((sum, { json, proto }) => sum + json.length + proto.length, 0);
  const fitting = Math.floor((PAGE_BYTES * items.length) / Math.max(1, bytes));
  return Math.min(LARGEST_PAGE, 2 * size, Math.max(SMALLEST_PAGE, fitting));
}

/** The list as pieces of JSON text. Its metadata comes last, because only then the continue token is known. */
export async function* listText(pages: AsyncIterable<ListPage>, answer: ListAnswer): AsyncGenerator<string, void> {
  const { header, itemsKey, toItem } = formOf(answer);
  yield `${JSON.stringify(header).slice(0, -1)},"${itemsKey}":[`;
  let count = 0;
  let last: ListPage | undefined;
  let total: number | undefined;
  for await (const page of pages) {
    for (const stored of page.items) {
      yield `${count === 0 ? '' : ','}${JSON.stringify(toItem(stored))}`;
      count += 1;
    }
    last = page;
    total ??= page.total;
  }
  const left = total === undefined ? undefined : total - count - (answer.offset ?? 0);
  yield `],"metadata":${JSON.stringify(metadataOf(answer, last, left))}}\n`;
}

function metadataOf(
  { resourceVersion }: ListAnswer,
  last: ListPage | undefined,
  remaining: number | undefined,
): JsonObject {
  const more = last?.continue === undefined ? {} : { continue: last.continue };
  const left = remaining === undefined || remaining <= 0 ? {} : { remainingItemCount: remaining };
  return { resourceVersion, ...more, ...left };
}

interface Form {
  readonly header: JsonObject;
  readonly itemsKey: 'items' | 'rows';
  readonly toItem: (stored: StoredObject) => JsonObject;
}

function formOf({ kind, shape, includeObject, now }: ListAnswer): Form {
  switch (shape) {
    case 'object':
      return {
        header: { kind: `${kind.kind}List`, apiVersion: STORED_GROUP_VERSION },
        itemsKey: 'items',
        toItem: (stored) => presentObject(kind, stored),
      };
    case 'metadata':
      return {
        header: { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' },
        itemsKey: 'items',
        toItem: (stored) => presentMetadataOnly(kind, stored),
      };
    case 'table':
      return {
        header: tableHeader(kind),
        itemsKey: 'rows',
        toItem: rowMaker(kind, includeObject, now),
      };
  }
}

function tableHeader(kind: KindDefinition): JsonObject {
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', columnDefinitions: columnDefinitions(kind) };
}

/** One object in the shape asked for. */
export function objectDocument(stored: StoredObject, answer: ListAnswer): JsonObject {
  switch (answer.shape) {
    case 'object':
      return presentObject(answer.kind, stored);
    case 'metadata':
      return presentMetadataOnly(answer.kind, stored);
    case 'table': {
      const rows = [rowMaker(answer.kind, answer.includeObject, answer.now)(stored)];
      return { ...tableHeader(answer.kind), metadata: { resourceVersion: stored.resourceVersion }, rows };
    }
  }
}
