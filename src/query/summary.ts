// Every kind with how many objects are where, and how new the store is: the start page of the web page.
import type { KindDefinition } from '../api/kind.ts';
import { sha256Hex } from '../base/hash.ts';
import type { JsonObject } from '../base/json.ts';
import { queryFieldNames } from '../storage/fields.ts';
import type { ListQuery } from '../storage/list-query.ts';
import { BoundedCache } from './bounded-cache.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { Freshness, warn } from './freshness.ts';
import { bulk } from './list.ts';
import { selections } from './list-query.ts';
import { refuseParameters } from './list-request.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { QueryAppOptions } from './options.ts';

const counted = ['live', 'evicted', 'deleted'] as const;
/** Counting walks over everything, and a page that is loaded again needs no new figures. */
const KEEP_MS = 10_000;
const CAPACITY = 4096;

export class Summary {
  readonly #options: QueryAppOptions;
  readonly #freshness: Freshness;
  readonly #counts: BoundedCache<number>;

  constructor(options: QueryAppOptions) {
    const { storage, clock, limits } = options;
    this.#options = options;
    this.#freshness = new Freshness({ storage, clock, staleMs: limits.staleMs });
    this.#counts = new BoundedCache({ clock, capacity: CAPACITY, keepMs: KEEP_MS });
  }

  /** Kinds that the user may list nowhere are left out; 403 where there is no other. */
  async answer(context: Context): Promise<void> {
    refuseParameters(context.query);
    const { authorizer, kinds } = this.#options;
    const { time, user, response } = context;
    const listable = await time.within(authorizer.listable(user, kinds, time.signal));
    const items: JsonObject[] = [];
    // One after another: counting everything at once would keep every connection of the pool busy.
    for (const kind of kinds) {
      const among = listable.kinds.get(kind);
      if (among !== undefined) items.push(await time.within(this.#item(kind, among, time.signal)));
    }
    if (items.length === 0) throw new QueryError('Forbidden', `User "${user.name}" may list no kind`);
    const { leftOut } = listable;
    if (leftOut > 0) warn(response, `${leftOut} namespaces are not counted: there are too many to ask about`);
    const incomplete = leftOut === 0 ? {} : { namespacesLeftOut: leftOut };
    sendJson(context, { kind: 'StoredSummary', apiVersion: STORED_GROUP_VERSION, ...incomplete, items });
  }

  async #item(kind: KindDefinition, among: 'all' | readonly string[], signal: AbortSignal): Promise<JsonObject> {
    const counts = await Promise.all(counted.map((source) => this.#count(kind, among, source, signal)));
    const position = await this.#freshness.position(kind, signal);
    return {
      kind: kind.kind,
      plural: kind.plural,
      fields: [...queryFieldNames(kind)],
      counts: Object.fromEntries(counted.map((source, index) => [source, counts[index] ?? 0])),
      ...(among === 'all' ? {} : { namespaces: [...among] }),
      ...(position === undefined
        ? {}
        : { resourceVersion: position.resourceVersion, lagSeconds: this.#freshness.lagSeconds(position) }),
    };
  }

  #count(
    kind: KindDefinition,
    among: 'all' | readonly string[],
    source: (typeof counted)[number],
    signal: AbortSignal,
  ): Promise<number> {
    const query: ListQuery = {
      ...selections[source],
      limit: 1,
      skip: bulk,
      count: 'yes',
      ...(among === 'all' ? {} : { namespaces: among }),
    };
    const load = async (waited: AbortSignal): Promise<number> =>
      (await this.#options.storage.until(waited).list(kind, query)).total ?? 0;
    return this.#counts.get(sha256Hex(JSON.stringify([kind.kind, source, among])), load, signal);
  }
}
