// Every kind with how many objects are where, and how new the store is: the first thing that a person wants to see.
import type { KindDefinition } from '../api/kind.ts';
import type { JsonObject } from '../base/json.ts';
import { BoundedCache } from './bounded-cache.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { Freshness } from './freshness.ts';
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
    const items: JsonObject[] = [];
    // One after another: counting everything at once would keep every connection of the pool busy.
    for (const kind of this.#options.kinds) {
      const item = await context.time.within(this.#item(kind, context));
      if (item !== undefined) items.push(item);
    }
    if (items.length === 0) throw new QueryError('Forbidden', `User "${context.user.name}" may list no kind`);
    sendJson(context, { kind: 'StoredSummary', apiVersion: STORED_GROUP_VERSION, items });
  }

  async #item(kind: KindDefinition, { user }: Context): Promise<JsonObject | undefined> {
    const among = await this.#listable(kind, user);
    if (among === 'none') return undefined;
    const counts = await Promise.all(counted.map((source) => this.#count(kind, among, source)));
    const position = await this.#freshness.position(kind);
    return {
      kind: kind.kind,
      plural: kind.plural,
      counts: Object.fromEntries(counted.map((source, index) => [source, counts[index] ?? 0])),
      ...(among === undefined ? {} : { namespaces: [...among] }),
      ...(position === undefined
        ? {}
        : { resourceVersion: position.resourceVersion, lagSeconds: this.#freshness.lagSeconds(position) }),
    };
  }

  async #listable(kind: KindDefinition, user: Context['user']): Promise<readonly string[] | undefined | 'none'> {
    try {
      return await this.#options.authorizer.listableNamespaces(user, kind);
    } catch (error) {
      if (error instanceof QueryError && error.reason === 'Forbidden') return 'none';
      throw error;
    }
  }

  #count(
    kind: KindDefinition,
    among: readonly string[] | undefined,
    source: (typeof counted)[number],
  ): Promise<number> {
    return this.#counts.get(JSON.stringify([kind.kind, source, among]), async () => {
      const where = { field: 'metadata.namespace', operator: 'in', values: among ?? [] } as const;
      const query = {
        ...selections[source],
        limit: 1,
        count: 'yes',
        ...(among === undefined ? {} : { where }),
      } as const;
      return (await this.#options.storage.list(kind, query)).total ?? 0;
    });
  }
}
