// Reads of objects: lists, searches, single objects and incarnations.
import type { ListPage, StorageReads, StoredObject } from '../storage/metadata-storage.ts';
import { aggregateDocument, aggregateQuery, parseAggregate } from './aggregate.ts';
import { readJsonBody } from './body.ts';
import { changesQuery, withCursor } from './changes.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { Freshness } from './freshness.ts';
import { objectDocument, readPages, sendPages, tokenAfter } from './list.ts';
import { listQuery } from './list-query.ts';
import { type ListRequest, parseListRequest, refuseParameters } from './list-request.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { negotiateShape } from './negotiate.ts';
import type { QueryAppOptions } from './options.ts';
import type { Collection, ObjectTarget } from './paths.ts';
import { parseSearch } from './search.ts';
import { momentOf } from './watch/moments.ts';

/** Most incarnations of one name in an answer. */
const MOST_INCARNATIONS = 1000;

interface Listed extends Collection {
  readonly asked: ListRequest;
  /** The namespaces to look in; undefined: all, or the one of the path. */
  readonly among: readonly string[] | undefined;
}

export class Reader {
  readonly #options: QueryAppOptions;
  readonly #freshness: Freshness;

  constructor(options: QueryAppOptions) {
    const { storage, clock, limits } = options;
    this.#options = options;
    this.#freshness = new Freshness({ storage, clock, staleMs: limits.staleMs });
  }

  async list(collection: Collection, context: Context): Promise<void> {
    const asked = parseListRequest(context.query, 'list');
    await this.#list({ ...collection, asked, among: await this.#among(collection, context) }, context);
  }

  /** The body is read only for users who may list the kind. */
  async search(collection: Collection, context: Context): Promise<void> {
    const among = await this.#among(collection, context);
    const asked = parseSearch(await readJsonBody(context.request), collection.kind);
    await this.#list({ ...collection, asked, among }, context);
  }

  async #list(listed: Listed, context: Context): Promise<void> {
    const { kind, asked, among } = listed;
    const { templates } = this.#options;
    const { time } = context;
    if (asked.count && asked.continue !== undefined) {
      throw new QueryError('BadRequest', 'count belongs to the first page: ask for it without continue');
    }
    const shape = negotiateShape(context.request.headers.accept);
    const storage = this.#options.storage.until(time.signal);
    const query = listQuery(listed, among, asked, templates);
    await this.#freshness.tell(kind, asked.minResourceVersion, context);
    const resourceVersion = String(momentOf(this.#options.clock.now()));
    const start = await time.within(tokenAfter(storage, kind, query, asked.offset));
    const within = <T>(work: Promise<T>): Promise<T> => time.within(work);
    const pages =
      start === 'end'
        ? onePage([])
        : readPages(storage, kind, { ...query, ...start }, { limit: asked.limit ?? query.limit, within });
    const answer = { kind, shape, includeObject: asked.includeObject, resourceVersion, offset: asked.offset };
    await sendPages(context, { ...answer, now: this.#options.clock.now() }, pages);
  }

  /** Counts and figures, for users who may list the kind. */
  async aggregate(collection: Collection, context: Context): Promise<void> {
    const { kind } = collection;
    const { time } = context;
    const asked = parseAggregate(context.query);
    const among = await this.#among(collection, context);
    const query = aggregateQuery(collection, among, asked);
    const position = await this.#freshness.tell(kind, asked.minResourceVersion, context);
    const storage = this.#options.storage.until(time.signal);
    sendJson(context, aggregateDocument(asked, position, await time.within(storage.aggregate(kind, query))));
  }

  async changes(collection: Collection, context: Context): Promise<void> {
    const { kind } = collection;
    const { clock } = this.#options;
    const asked = parseListRequest(context.query, 'changes');
    const shape = negotiateShape(context.request.headers.accept);
    const among = await this.#among(collection, context);
    const query = changesQuery(collection, among, asked, clock.now());
    const resourceVersion = await this.#freshness.tell(kind, asked.minResourceVersion, context);
    const storage = this.#options.storage.until(context.time.signal);
    const { items } = await context.time.within(storage.list(kind, query));
    const answer = { kind, shape, includeObject: asked.includeObject, resourceVersion };
    await sendPages(context, { ...answer, now: clock.now() }, onePage(items, withCursor(items, asked.since)));
  }

  /** The named queries of a kind, for users who may list the kind. */
  async queries(collection: Collection, context: Context): Promise<void> {
    const { kind } = collection;
    refuseParameters(context.query);
    await this.#among(collection, context);
    const items = this.#options.templates.forKind(kind).map(({ id, description, parameters = {} }) => {
      return { id, description, parameters };
    });
    sendJson(context, { kind: 'StoredQueryList', apiVersion: STORED_GROUP_VERSION, items });
  }

  async get(target: ObjectTarget, context: Context): Promise<void> {
    const { kind, namespace, name } = target;
    const { authorizer, clock } = this.#options;
    const { time, user } = context;
    const { uid, includeObject, minResourceVersion } = parseListRequest(context.query, 'object');
    const shape = negotiateShape(context.request.headers.accept);
    await time.within(authorizer.require(user, { verb: 'get', kind, namespace, name }, time.signal));
    await this.#freshness.tell(kind, minResourceVersion, context);
    const stored = await time.within(findStored(this.#options.storage.until(time.signal), target, uid));
    const { resourceVersion } = stored;
    sendJson(context, objectDocument(stored, { kind, shape, includeObject, resourceVersion, now: clock.now() }));
  }

  async incarnations({ kind, namespace, name }: ObjectTarget, context: Context): Promise<void> {
    const { authorizer, clock } = this.#options;
    const { time, user } = context;
    const { includeObject, minResourceVersion } = parseListRequest(context.query, 'incarnations');
    const shape = negotiateShape(context.request.headers.accept);
    await time.within(authorizer.require(user, { verb: 'get', kind, namespace, name }, time.signal));
    const resourceVersion = await this.#freshness.tell(kind, minResourceVersion, context);
    const storage = this.#options.storage.until(time.signal);
    const named = { field: 'metadata.name', operator: '=', value: name } as const;
    const query = { namespace, where: named, deleted: 'included' } as const;
    const within = <T>(work: Promise<T>): Promise<T> => time.within(work);
    const pages = readPages(storage, kind, query, { limit: MOST_INCARNATIONS, within });
    const answer = { kind, shape, includeObject, resourceVersion, now: clock.now() };
    await sendPages(context, answer, withoutContinue(pages));
  }

  /** The namespaces to look in; undefined: all, or the one of the path. */
  async #among({ kind, namespace }: Collection, { user, time }: Context): Promise<readonly string[] | undefined> {
    const { authorizer } = this.#options;
    const { signal } = time;
    if (namespace === undefined) return time.within(authorizer.listableNamespaces(user, kind, signal));
    await time.within(authorizer.require(user, { verb: 'list', kind, namespace }, signal));
    return undefined;
  }
}

/** The live object of the name, else the newest; where an uid is given, that one. Throws NotFound. */
export async function findStored(
  storage: Pick<StorageReads, 'getByName' | 'getById'>,
  target: ObjectTarget,
  uid: string | undefined,
): Promise<StoredObject> {
  const { kind, namespace, name } = target;
  const stored = await (uid === undefined ? storage.getByName(kind, namespace, name) : storage.getById(kind, uid));
  if (stored?.namespace !== namespace || stored.name !== name) throw notFound(target);
  return stored;
}

export function notFound({ kind, name }: Pick<ObjectTarget, 'kind' | 'name'>): QueryError {
  const { plural } = kind;
  return new QueryError('NotFound', `${plural}.${STORED_GROUP} "${name}" not found`, { plural, name });
}

/** For answers that cannot be gone on with. */
async function* withoutContinue(pages: AsyncGenerator<ListPage, void>): AsyncGenerator<ListPage, void> {
  for await (const page of pages) yield { ...page, continue: undefined };
}

async function* onePage(items: readonly StoredObject[], next?: string): AsyncGenerator<ListPage, void> {
  yield await Promise.resolve({ items, continue: next, total: undefined });
}
