// Requests for resources: which one, may they, and who answers it.

import type { Context } from './context.ts';
import { QueryError } from './errors.ts';
import { refuseParameters } from './list-request.ts';
import type { QueryAppOptions } from './options.ts';
import { parseTarget, type Target } from './paths.ts';
import { Reader } from './reads.ts';
import { Summary } from './summary.ts';
import { Writer } from './writes.ts';

/** The one method of each thing, but for the object itself. */
const methods: Readonly<Record<Target['type'], readonly string[]>> = {
  list: ['GET'],
  changes: ['GET'],
  queries: ['GET'],
  search: ['POST'],
  object: ['GET', 'DELETE'],
  incarnations: ['GET'],
  restore: ['POST'],
  summary: ['GET'],
};

export class ResourceHandler {
  readonly #options: QueryAppOptions;
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #summary: Summary;

  constructor(options: QueryAppOptions) {
    this.#options = options;
    this.#reader = new Reader(options);
    this.#writer = new Writer(options);
    this.#summary = new Summary(options);
  }

  async answer(context: Context): Promise<void> {
    const { request, query } = context;
    const target = parseTarget(request.path, this.#options.kinds);
    if (target === undefined) throw new QueryError('NotFound', 'there is nothing at this path');
    refuseMethod(request.method, target);
    switch (target.type) {
      case 'list':
        return this.#reader.list(target, context);
      case 'search':
        refuseParameters(query, ['includeObject']);
        return this.#reader.search(target, context);
      case 'changes':
        return this.#reader.changes(target, context);
      case 'queries':
        return this.#reader.queries(target, context);
      case 'incarnations':
        return this.#reader.incarnations(target, context);
      case 'restore':
        return this.#writer.restore(target, context);
      case 'summary':
        return this.#summary.answer(context);
      case 'object':
        return request.method === 'DELETE' ? this.#writer.delete(target, context) : this.#reader.get(target, context);
    }
  }
}

function refuseMethod(method: string, target: Target): void {
  if (methods[target.type].includes(method)) return;
  const advice =
    target.type === 'object' || target.type === 'list'
      ? `stored objects are read-only here: ${method} the object in michelangelo.api`
      : `this path takes ${methods[target.type].join(' and ')}`;
  throw new QueryError('MethodNotAllowed', advice, 'kind' in target ? { plural: target.kind.plural } : {});
}
