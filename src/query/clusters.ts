// One API over many clusters. Each has a database of its own, and rights are asked of the cluster that an object lives in. A request
// is about the cluster in which it is answered unless it names another one: `cluster=eu-1`, as a parameter or, because kubectl sends
// none of its own, as a field. A list may be of all of them: `cluster=*`.
import { parseFieldSelector } from '../storage/selectors.ts';
import { type Context, sendJson, type User } from './context.ts';
import { QueryError } from './errors.ts';
import { EveryCluster, namingCluster } from './every-cluster.ts';
import { isWatch, refuseParameters } from './list-request.ts';
import { marked } from './marked-storage.ts';
import { OWN_CLUSTER, STORED_GROUP_VERSION } from './names.ts';
import type { ClusterParts, OtherCluster, QueryAppOptions } from './options.ts';
import { type CollectionTarget, parseTarget, type Target } from './paths.ts';
import { ResourceHandler } from './resources.ts';
import { WatchRoom } from './watch/watches.ts';

const EVERY = '*';

/** Whose objects are asked for, and as whom: users and groups of Kubernetes itself are those of one cluster. */
interface Served extends ClusterParts {
  readonly as: (user: User) => User;
}

export class Clusters {
  readonly #options: QueryAppOptions;
  readonly #served: ReadonlyMap<string, Served>;
  readonly #handlers: ReadonlyMap<string, ResourceHandler>;
  readonly #every: EveryCluster;

  constructor(options: QueryAppOptions) {
    const room = new WatchRoom();
    const others = [...(options.others ?? [])].map(([name, parts]) => [name, elsewhere(name, parts)] as const);
    this.#options = options;
    this.#served = new Map<string, Served>([[OWN_CLUSTER, { ...options, as: (user) => user }], ...others]);
    this.#handlers = new Map(
      [...this.#served].map(([name, parts]) => [name, new ResourceHandler({ ...options, ...parts }, room)]),
    );
    const all = [...this.#served].map(([name, parts]) => ({ name, ...parts, storage: marked(parts.storage, name) }));
    this.#every = new EveryCluster(options, all);
  }

  async answer(context: Context): Promise<void> {
    const target = parseTarget(context.request.path, this.#options.kinds);
    if (target === undefined) throw new QueryError('NotFound', 'there is nothing at this path');
    const { name, query } = chosenCluster(context.query);
    if (target.type === '-/clusters') {
      sendJson(context, this.#listed({ ...context, query }, name));
      return;
    }
    if (name === EVERY) {
      context.response.locals['cluster'] = name;
      if (!isList(target, context)) throw this.#refused('only a list can be of every cluster');
      await this.#every.list(target, { ...context, query });
      return;
    }
    const [served, handler] = [this.#served.get(name), this.#handlers.get(name)];
    if (served === undefined || handler === undefined)
      throw this.#refused(`there is no cluster "${name.slice(0, 100)}"`);
    context.response.locals['cluster'] = name;
    const user = served.as(context.user);
    await namingCluster(name, () => handler.answer(target, { ...context, query, user }));
  }

  #listed({ query, request }: Context, name: string): object {
    refuseParameters(query);
    if (request.method !== 'GET' || name !== OWN_CLUSTER) throw this.#refused('this path takes GET and no cluster');
    const items = [...this.#served.keys()].map((cluster) => ({ name: cluster }));
    return { kind: 'StoredClusterList', apiVersion: STORED_GROUP_VERSION, items };
  }

  #refused(why: string): QueryError {
    return new QueryError('BadRequest', `${why}; clusters are ${[...this.#served.keys()].join(', ')}`);
  }
}

function elsewhere(name: string, cluster: OtherCluster): Served {
  const as = cluster.isRetired ? (user: User): User => user : (user: User): User => userElsewhere(user, name);
  return { ...cluster, storage: marked(cluster.storage, name), as };
}

/**
 * A service account of the same name may exist in the other cluster, and is another one there; so is a member of system:masters. What
 * an identity provider says of a user is true in every cluster.
 */
function userElsewhere({ name, groups }: User, cluster: string): User {
  if (name.startsWith('system:')) {
    const message = `User "${name}" is one of this cluster alone, and cannot read what is stored of cluster "${cluster}"`;
    throw new QueryError('Forbidden', message);
  }
  const known = groups.filter((group) => !group.startsWith('system:') || group === 'system:authenticated');
  return { name, uid: '', groups: known, extra: {} };
}

/** The rest of the query is that of any cluster. */
function chosenCluster(query: URLSearchParams): { readonly name: string; readonly query: URLSearchParams } {
  const given = query.getAll('cluster').filter((name) => name !== '');
  for (const condition of parseFieldSelector(query.get('fieldSelector') ?? '')) {
    if (condition.field !== 'cluster') continue;
    if (!('value' in condition) || condition.operator !== '=' || typeof condition.value !== 'string')
      throw new QueryError('BadRequest', 'the field cluster takes = and one name');
    given.push(condition.value);
  }
  if (given.length > 1) throw new QueryError('BadRequest', 'cluster is given more than once');
  const rest = new URLSearchParams(query);
  rest.delete('cluster');
  return { name: given[0] ?? OWN_CLUSTER, query: rest };
}

function isList(target: Target, { request, query }: Context): target is CollectionTarget & { readonly type: 'list' } {
  return target.type === 'list' && request.method === 'GET' && !isWatch(query);
}
