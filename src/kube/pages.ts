// Every object of a list, page by page, with a bound in bytes and in time: how large objects are is known only once they
// came, and of those whose metadata alone is asked for it shows in the time, because the server reads them whole. So it
// begins with a few, asks for as many as fit by the page before, and breaks off a page that is larger after all.
import type { KubeClient, ListOptions, ListPage, Resource } from './client.ts';
import { isKubeError, KubeError, PageTooLargeError } from './errors.ts';

const FIRST_OBJECTS = 4;
const MOST_OBJECTS = 500;
/** What a page aims at, and what it may have. While it is read it takes about three times as much memory. */
const WANTED_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 8 * 1024 * 1024;
const WANTED_MS = 1000;
/** So many of the largest objects are no burden for a server; it is not asked for fewer because it is slow. */
const FEW_OBJECTS = 16;
/** The next page has at most so many times the objects of this one. */
const GROWTH = 4;

export interface PagesOptions extends Omit<ListOptions, 'limit' | 'continueToken' | 'mostBytes'> {
  /**
   * `one-version`: what the last page says was the state at its resourceVersion; a list of more than about five minutes
   * fails with `Expired`. `each-page`: a page may be newer than those before it, and no list takes too long. Objects that
   * are there all the time are in both exactly once.
   */
  readonly consistency: 'one-version' | 'each-page';
}

/** Ends with the last page. What was read of one that expires or fails stays read. */
export async function* pagesOf(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  { consistency, ...options }: PagesOptions,
  signal: AbortSignal,
): AsyncGenerator<ListPage, void> {
  let asked: Asked = { limit: FIRST_OBJECTS };
  for (;;) {
    let page: ListPage;
    try {
      page = await client.list(resource, { ...options, ...position(asked), ...bounds(asked.limit) }, signal);
    } catch (error) {
      const instead = afterFailure(error, asked, consistency);
      if (instead === undefined) throw error;
      asked = instead;
      continue;
    }
    yield page;
    const { continueToken } = page;
    if (continueToken === undefined) return;
    asked = { limit: nextLimit(asked.limit, page), continueToken };
  }
}

/** A page that is asked for ahead is in the memory beside the one before, of each kind that is listed. */
const SMALL_BYTES = 2 * 1024 * 1024;

/** Asks for the next page while the caller is busy with the one before, where pages are small. */
export async function* oneAhead(pages: AsyncGenerator<ListPage, void>): AsyncGenerator<ListPage, void> {
  let next: ReturnType<typeof pages.next> | undefined;
  for (;;) {
    const { value: page } = await (next ?? pages.next());
    if (page === undefined) return;
    next = (page.bytes ?? 0) <= SMALL_BYTES ? pages.next() : undefined;
    // Its failure is the caller's once the caller asks for it.
    next?.catch(() => undefined);
    yield page;
  }
}

interface Asked {
  readonly limit: number;
  readonly continueToken?: string;
  /** The token is one that the server gave for an expired one. */
  readonly renewed?: true;
}

function position({ continueToken }: Asked): Pick<ListOptions, 'continueToken'> {
  return continueToken === undefined ? {} : { continueToken };
}

/** A single object is taken whatever its size: etcd bounds it. */
function bounds(limit: number): Pick<ListOptions, 'limit' | 'mostBytes'> {
  return limit === 1 ? { limit } : { limit, mostBytes: MOST_BYTES };
}

/** Pure. What to ask for instead; undefined where the list has failed. */
function afterFailure(error: unknown, asked: Asked, consistency: PagesOptions['consistency']): Asked | undefined {
  const { limit } = asked;
  if (error instanceof PageTooLargeError) return { ...asked, limit: Math.ceil(limit / GROWTH) };
  // It may be that the server could not read so many in time.
  if (isKubeError(error, 'Unavailable') && limit > FEW_OBJECTS) return { ...asked, limit: FEW_OBJECTS };
  if (consistency === 'one-version' || asked.renewed || !(error instanceof KubeError)) return undefined;
  const { reason, continueToken } = error;
  return reason === 'Expired' && continueToken !== undefined ? { limit, continueToken, renewed: true } : undefined;
}

/** Pure. As many objects as fit, going by the size and the time of the last ones, and not suddenly many more. */
function nextLimit(limit: number, { items, bytes = 0, tookMs = 0 }: ListPage): number {
  const perObject = (sum: number): number => sum / Math.max(1, items.length);
  const fitting = Math.floor(WANTED_BYTES / perObject(bytes));
  const inTime = Math.max(FEW_OBJECTS, Math.floor(WANTED_MS / perObject(tookMs)));
  return Math.max(1, Math.min(fitting, inTime, limit * GROWTH, MOST_OBJECTS));
}
