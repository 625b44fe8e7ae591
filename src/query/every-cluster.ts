// Lists of all clusters, one after another: what is in one of them is as it is in a list of that cluster alone.
import type { KindDefinition } from '../api/kind.ts';
import type { ListPage } from '../storage/metadata-storage.ts';
import type { Context, User } from './context.ts';
import { QueryError, queryErrorOf } from './errors.ts';
import { Freshness, warn } from './freshness.ts';
import { readPages, sendPages } from './list.ts';
import { listQuery } from './list-query.ts';
import { type ListRequest, parseListRequest } from './list-request.ts';
import { OWN_CLUSTER } from './names.ts';
import { negotiateShape } from './negotiate.ts';
import type { ClusterParts, QueryAppOptions } from './options.ts';
import type { Collection } from './paths.ts';
import type { RequestTime } from './request-time.ts';
import { momentOf } from './watch/moments.ts';

export interface NamedCluster extends ClusterParts {
  readonly name: string;
  readonly as: (user: User) => User;
}

interface Asked extends NamedCluster {
  readonly freshness: Freshness;
}

interface Readable {
  readonly cluster: Asked;
  /** The namespaces to look in; undefined: all, or the one of the path. */
  readonly among: readonly string[] | undefined;
}

/** Of a page that ended before the list did. */
interface Start {
  readonly cluster: string;
  /** Undefined: from its first object on. */
  readonly token: string | undefined;
}

interface Paged {
  readonly asked: ListRequest;
  readonly start: Start | undefined;
  readonly time: RequestTime;
}

export class EveryCluster {
  readonly #options: QueryAppOptions;
  readonly #clusters: readonly Asked[];

  constructor(options: QueryAppOptions, clusters: readonly NamedCluster[]) {
    const { clock, limits } = options;
    this.#options = options;
    this.#clusters = clusters.map((cluster) => ({
      ...cluster,
      freshness: new Freshness({ storage: cluster.storage, clock, staleMs: limits.staleMs }),
    }));
  }

  /** A cluster in which the user may list nothing is left out, with a warning; one that does not answer is an error. */
  async list(collection: Collection, context: Context): Promise<void> {
    const { kind } = collection;
    const asked = parseListRequest(context.query, 'list');
    refuseOrder(asked);
    const start = asked.continue === undefined ? undefined : this.#startOf(asked.continue);
    const shape = negotiateShape(context.request.headers.accept);
    const readable = await this.#readable(collection, context);
    await this.#warnOfStale(kind, readable, context);
    const { clock } = this.#options;
    const resourceVersion = String(momentOf(clock.now()));
    const pages = this.#pages(collection, readable, { asked, start, time: context.time });
    const { includeObject } = asked;
    const answer = { kind, shape, includeObject, resourceVersion, clusters: 'every', now: clock.now() } as const;
    await sendPages(context, answer, pages);
  }

  #startOf(token: string): Start {
    const [cluster = '', ...rest] = token.split(':');
    if (rest.length === 0 || !this.#clusters.some(({ name }) => name === cluster))
      throw new QueryError('Expired', 'continue is not of a list of these clusters; begin anew');
    const inside = rest.join(':');
    return { cluster, token: inside === '' ? undefined : inside };
  }

  /** Asked of all before the answer begins: whether something is left out stands in its head. */
  async #readable({ kind, namespace }: Collection, context: Context): Promise<readonly Readable[]> {
    const { time, response } = context;
    const asked = this.#clusters.map((cluster) =>
      namingCluster(cluster.name, () => amongOf(cluster, { kind, namespace }, context)),
    );
    const answers = await time.within(Promise.all(asked));
    const readable: Readable[] = [];
    for (const [index, cluster] of this.#clusters.entries()) {
      const among = answers[index];
      if (!(among instanceof QueryError)) readable.push({ cluster, among });
      else warn(response, `cluster ${cluster.name} is left out: you may not list ${kind.plural} there`);
    }
    const refusal = answers.find((answer) => answer instanceof QueryError);
    if (refusal !== undefined && readable.length === 0) throw refusal;
    return readable;
  }

  async #warnOfStale(kind: KindDefinition, readable: readonly Readable[], { response, time }: Context): Promise<void> {
    for (const { cluster } of readable) {
      const { name, freshness } = cluster;
      const position = await namingCluster(name, () => time.within(freshness.position(kind, time.signal)));
      const warning = freshness.warningOf(kind, position);
      if (warning !== undefined) warn(response, `cluster ${name}: ${warning}`);
    }
  }

  async *#pages(
    collection: Collection,
    readable: readonly Readable[],
    { asked, start, time }: Paged,
  ): AsyncGenerator<ListPage, void> {
    const rest = from(start, readable);
    let left: number | undefined;
    for (const [index, { cluster, among }] of rest.entries()) {
      const inside = { ...asked, continue: index === 0 ? start?.token : undefined };
      const query = listQuery(collection, among, inside, this.#options.templates);
      left ??= asked.limit ?? query.limit ?? Number.POSITIVE_INFINITY;
      const within = (work: Promise<ListPage>): Promise<ListPage> =>
        namingCluster(cluster.name, () => time.within(work));
      const storage = cluster.storage.until(time.signal);
      const pages = readPages(storage, collection.kind, query, { limit: left, within });
      const after = rest[index + 1]?.cluster.name;
      for await (const page of pages) {
        left -= page.items.length;
        yield { ...page, continue: nextOf(page, cluster.name, after), total: undefined };
        if (left <= 0) return;
      }
    }
  }
}

/** The clusters that are left. */
function from(start: Start | undefined, readable: readonly Readable[]): readonly Readable[] {
  if (start === undefined) return readable;
  const first = readable.findIndex(({ cluster: { name } }) => name === start.cluster);
  if (first >= 0) return readable.slice(first);
  throw new QueryError('Expired', 'you may not list the cluster of continue any more; begin anew');
}

/** The namespaces to look in; the refusal where the user may list the kind in none. */
async function amongOf(
  { authorizer, as }: NamedCluster,
  { kind, namespace }: Collection,
  { user, time: { signal } }: Context,
): Promise<Readable['among'] | QueryError> {
  try {
    if (namespace === undefined) return await authorizer.listableNamespaces(as(user), kind, signal);
    await authorizer.require(as(user), { verb: 'list', kind, namespace }, signal);
    return undefined;
  } catch (error) {
    if (error instanceof QueryError && error.reason === 'Forbidden') return error;
    throw error;
  }
}

function nextOf(page: ListPage, cluster: string, after: string | undefined): string | undefined {
  if (page.continue !== undefined) return `${cluster}:${page.continue}`;
  return after === undefined ? undefined : `${after}:`;
}

/** What would need all clusters at once. */
function refuseOrder({ order, count, minResourceVersion }: ListRequest): void {
  const given = [
    ...(order.length > 0 ? ['orderBy'] : []),
    ...(count ? ['count'] : []),
    ...(minResourceVersion === undefined ? [] : ['resourceVersion']),
  ];
  if (given.length === 0) return;
  const message = `${given.join(', ')} ${given.length === 1 ? 'is' : 'are'} of one cluster: clusters are listed one after another`;
  throw new QueryError('BadRequest', message);
}

/** Says which cluster has failed, where it is not the one that answers. */
export async function namingCluster<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = queryErrorOf(thrown);
    if (name === OWN_CLUSTER || error.status < 500) throw thrown;
    throw new QueryError(error.reason, `cluster "${name}": ${error.message}`, error.details);
  }
}
