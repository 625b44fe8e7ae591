// Lists of any length: pages are read one by one and written as they come, so that memory does not grow with the list.
import type { KindDefinition } from '../api/kind.ts';
import type { JsonObject } from '../base/json.ts';
import type { ListQuery } from '../storage/list-query.ts';
import type { ListPage, MetadataStorage, StoredObject } from '../storage/metadata-storage.ts';
import { type Context, JsonStream } from './context.ts';
import { pageBounds } from './list-query.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { Shape } from './negotiate.ts';
import { presentMetadataOnly, presentObject } from './present.ts';
import { columnDefinitions, rowMaker, type TableForm } from './table.ts';

export interface ListAnswer extends TableForm {
  readonly shape: Shape;
  /** Of the list: where a watch goes on. Of a feed or incarnations: the position of the store. */
  readonly resourceVersion: string;
  /** Objects that were passed over. */
  readonly offset?: number;
}

/** Objects of one page of the database. */
const PAGE_OBJECTS = 500;

/** Everything large: what is only counted is not read. */
export const bulk: readonly string[] = ['spec', 'status', 'metadata.labels', 'metadata.annotations'];

/** Where to go on after so many objects: nothing for the beginning, `end` where there are no more. */
export async function tokenAfter(
  storage: Pick<MetadataStorage, 'list'>,
  kind: KindDefinition,
  query: ListQuery,
  offset: number,
): Promise<Pick<ListQuery, 'continue'> | 'end'> {
  let position: Pick<ListQuery, 'continue'> = query.continue === undefined ? {} : { continue: query.continue };
  for (let left = offset; left > 0; left -= PAGE_OBJECTS) {
    const limit = Math.min(left, PAGE_OBJECTS);
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

/** Pages of the query; only their json is read. */
export async function* readPages(
  storage: Pick<MetadataStorage, 'list'>,
  kind: KindDefinition,
  query: ListQuery,
  { limit, within }: PageOptions,
): AsyncGenerator<ListPage, void> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  let position: Pick<ListQuery, 'continue' | 'count'> = {};
  for (;;) {
    const most = Math.min(PAGE_OBJECTS, left);
    const page = await within(storage.list(kind, { ...query, ...pageBounds, ...position, limit: most }));
    left -= page.items.length;
    yield page;
    if (page.continue === undefined || left <= 0) return;
    position = { continue: page.continue, count: 'no' };
  }
}

/**
 * The list as pieces of JSON text. The first page is read before the first piece; the metadata come last, because only
 * then the continue token is known.
 */
async function* listText(pages: AsyncIterable<ListPage>, answer: ListAnswer): AsyncGenerator<string, void> {
  const { header, itemsKey, toItem } = formOf(answer);
  let before = `${JSON.stringify(header).slice(0, -1)},"${itemsKey}":[`;
  let count = 0;
  let next: string | undefined;
  let total: number | undefined;
  for await (const page of pages) {
    for (const stored of page.items) {
      yield `${before}${JSON.stringify(toItem(stored))}`;
      before = ',';
      count += 1;
    }
    next = page.continue;
    total ??= page.total;
  }
  const left = total === undefined ? undefined : total - count - (answer.offset ?? 0);
  yield `${count === 0 ? before : ''}],"metadata":${JSON.stringify(metadataOf(answer, next, left))}}\n`;
}

function metadataOf(
  { resourceVersion }: ListAnswer,
  next: string | undefined,
  remaining: number | undefined,
): JsonObject {
  const more = next === undefined ? {} : { continue: next };
  const left = remaining === undefined || remaining <= 0 ? {} : { remainingItemCount: remaining };
  return { resourceVersion, ...more, ...left };
}

interface Form {
  readonly header: JsonObject;
  readonly itemsKey: 'items' | 'rows';
  readonly toItem: (stored: StoredObject) => JsonObject;
}

function formOf(answer: ListAnswer): Form {
  const { kind, shape } = answer;
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
        header: tableHeader(answer),
        itemsKey: 'rows',
        toItem: rowMaker(answer),
      };
  }
}

function tableHeader(form: TableForm): JsonObject {
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', columnDefinitions: columnDefinitions(form) };
}

/** The first page is read before the head of the answer is written: its failure is an error and not half a list. */
export async function sendPages(
  { response, time }: Context,
  answer: ListAnswer,
  pages: AsyncIterable<ListPage>,
): Promise<void> {
  const texts = listText(pages, answer);
  const first = await texts.next();
  time.begun();
  response.setHeader('Content-Type', 'application/json');
  const stream = new JsonStream(response, time.signal);
  await stream.write(first.value ?? '');
  for await (const text of texts) await stream.write(text);
  await stream.end();
}

/** One object in the shape asked for. */
export function objectDocument(stored: StoredObject, answer: ListAnswer): JsonObject {
  switch (answer.shape) {
    case 'object':
      return presentObject(answer.kind, stored);
    case 'metadata':
      return presentMetadataOnly(answer.kind, stored);
    case 'table': {
      const rows = [rowMaker(answer)(stored)];
      return { ...tableHeader(answer), metadata: { resourceVersion: stored.resourceVersion }, rows };
    }
  }
}
