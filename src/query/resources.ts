// Requests for resources of one cluster: finds the handler of the path and the method.

import { GROUP, VERSION } from '../api/names.ts';
import type { Context } from './context.ts';
import { QueryError } from './errors.ts';
import { isWatch, refuseParameters } from './list-request.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import { ObjectEvents } from './object-events.ts';
import type { QueryAppOptions } from './options.ts';
import type { CollectionTarget, ObjectTarget, Target } from './paths.ts';
import { Reader } from './reads.ts';
import { Stuck } from './stuck.ts';
import { Summary } from './summary.ts';
import { Watches, type WatchRoom } from './watch/watches.ts';
import { Writer } from './writes.ts';

/** What a cluster has. */
type ResourceTarget = Exclude<Target, { readonly type: '-/clusters' }>;

/** The methods of each thing. */
const methods: Readonly<Record<ResourceTarget['type'], readonly string[]>> = {
  list: ['GET', 'DELETE'],
  changes: ['GET'],
  queries: ['GET'],
  aggregate: ['GET'],
  search: ['POST'],
  object: ['GET', 'PATCH', 'DELETE'],
  incarnations: ['GET'],
  events: ['GET'],
  restore: ['POST'],
  summary: ['GET'],
  stuck: ['GET'],
};

export class ResourceHandler {
  readonly #reader: Reader;
  readonly #events: ObjectEvents;
  readonly #writer: Writer;
  readonly #summary: Summary;
  readonly #stuck: Stuck;
  readonly #watches: Watches;

  constructor(options: QueryAppOptions, room: WatchRoom) {
    this.#reader = new Reader(options);
    this.#events = new ObjectEvents(options);
    this.#writer = new Writer(options);
    this.#summary = new Summary(options);
    this.#stuck = new Stuck(options);
    this.#watches = new Watches(options, room);
  }

  async answer(target: ResourceTarget, context: Context): Promise<void> {
    refuseMethod(context.request.method, target);
    if (!('kind' in target)) return (target.type === 'summary' ? this.#summary : this.#stuck).answer(context);
    return 'name' in target ? this.#ofObject(target, context) : this.#ofCollection(target, context);
  }

  #ofCollection(target: CollectionTarget, context: Context): Promise<void> {
    switch (target.type) {
      case 'list':
        return this.#list(target, context);
      case 'search':
        refuseParameters(context.query, ['includeObject']);
        return this.#reader.search(target, context);
      case 'changes':
        return this.#reader.changes(target, context);
      case 'queries':
        return this.#reader.queries(target, context);
      case 'aggregate':
        return this.#reader.aggregate(target, context);
    }
  }

  #ofObject(target: ObjectTarget, context: Context): Promise<void> {
    switch (target.type) {
      case 'incarnations':
        return this.#reader.incarnations(target, context);
      case 'events':
        return this.#events.answer(target, context);
      case 'restore':
        return this.#writer.restore(target, context);
      case 'object':
        return this.#object(target, context);
    }
  }

  #list(target: CollectionTarget, context: Context): Promise<void> {
    if (context.request.method === 'DELETE') return this.#writer.deleteCollection(target, context);
    return isWatch(context.query) ? this.#watches.watch(target, context) : this.#reader.list(target, context);
  }

  #object(target: ObjectTarget, context: Context): Promise<void> {
    switch (context.request.method) {
      case 'DELETE':
        return this.#writer.delete(target, context);
      case 'PATCH':
        return this.#writer.patch(target, context);
      default:
        return this.#reader.get(target, context);
    }
  }
}

function refuseMethod(method: string, target: ResourceTarget): void {
  if (methods[target.type].includes(method)) return;
  const advice =
    target.type === 'object' || target.type === 'list'
      ? `stored objects are neither created nor replaced here: write apiVersion: ${GROUP}/${VERSION} in place of ${STORED_GROUP_VERSION}`
      : `this path takes ${methods[target.type].join(' and ')}`;
  throw new QueryError('MethodNotAllowed', advice, 'kind' in target ? { plural: target.kind.plural } : {});
}
