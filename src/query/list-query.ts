// A list as it was asked for, as a query of the storage.

import type { KindDefinition } from '../api/kind.ts';
import { ownValue } from '../base/json.ts';
import type { Condition, ListQuery } from '../storage/list-query.ts';
import type { QueryTemplates } from '../storage/query-templates.ts';
import { QueryError } from './errors.ts';
import type { ListRequest, Source, TemplateCall } from './list-request.ts';
import type { Collection } from './paths.ts';

export const selections: Readonly<Record<Source, Pick<ListQuery, 'states' | 'deleted'>>> = {
  live: { states: ['live', 'evicting'] },
  evicted: { states: ['evicted'] },
  deleted: { states: ['deleted'] },
  present: { deleted: 'present' },
  all: { deleted: 'included' },
};

/** What is read of one page of the database, so that many requests together need little memory. */
export const pageBounds: Pick<ListQuery, 'bytes' | 'parts'> = { bytes: 1024 * 1024, parts: 'json' };

/** `among` are the namespaces to look in where the path names none; undefined: all of them. */
export function listQuery(
  collection: Collection,
  among: readonly string[] | undefined,
  request: ListRequest,
  templates: Pick<QueryTemplates, 'bind' | 'forKind'>,
): ListQuery {
  const { source, order, count, skip, template } = request;
  const named = template === undefined ? undefined : bound(collection.kind, template, templates);
  if (named !== undefined && order.length > 0) {
    throw new QueryError('BadRequest', 'a template has an order of its own: ask without orderBy');
  }
  const chosen = selection(collection, among, request, named?.where === undefined ? [] : [named.where]);
  const { order: namedOrder, limit, labels = [] } = named ?? {};
  const asked = { order: order.length > 0 ? order : namedOrder, limit, continue: request.continue };
  return {
    ...chosen,
    labels: [...labels, ...(chosen.labels ?? [])],
    ...definedOf(asked),
    ...(skip.length === 0 ? {} : { skip }),
    ...selections[source],
    count: count ? 'yes' : 'no',
  };
}

/** Without what is undefined: to the storage a missing part and one that is undefined are not the same. */
function definedOf(
  parts: {
    readonly [key in 'order' | 'limit' | 'continue']: ListQuery[key] | undefined;
  },
): Pick<ListQuery, 'order' | 'limit' | 'continue'> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

/** A parameter that is a list may be given once. */
function bound(
  kind: KindDefinition,
  { id, values }: TemplateCall,
  templates: Pick<QueryTemplates, 'bind' | 'forKind'>,
): ListQuery {
  const declared = templates.forKind(kind).find((one) => one.id === id)?.parameters ?? {};
  const given = Object.entries(values).map(([name, value]) => {
    const isList = ownValue(declared, name)?.list === 'yes';
    return [name, isList && typeof value !== 'object' ? [value] : value] as const;
  });
  return templates.bind(kind, id, Object.fromEntries(given), {});
}

/** What the objects must be, whatever becomes of them. */
export function selection(
  { kind, namespace }: Collection,
  among: readonly string[] | undefined,
  { labels, annotations, where, uid, owner }: ListRequest,
  more: readonly Condition[] = [],
): Pick<ListQuery, 'namespace' | 'namespaces' | 'labels' | 'annotations' | 'where'> {
  const conditions: readonly Condition[] = [
    ...where,
    ...(uid === undefined ? [] : [{ field: 'metadata.uid', operator: '=', value: uid } as const]),
    ...(owner === undefined ? [] : [ownedBy(kind, owner)]),
    ...more,
  ];
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(among === undefined ? {} : { namespaces: among }),
    ...(conditions.length === 0 ? {} : { where: { all: conditions } }),
    labels,
    ...(annotations.length === 0 ? {} : { annotations }),
  };
}

/** Who owns a model, who started a run: the indexed field that names a user. */
function ownedBy(kind: KindDefinition, owner: string): Condition {
  const names = ['spec.owner.name', 'spec.actor.name'];
  const column = kind.indexes.flat().find(({ path }) => names.includes(path.join('.')));
  if (column === undefined) {
    throw new QueryError('BadRequest', `objects of ${kind.kind} have no indexed owner; ask without owner`);
  }
  return { field: column.path.join('.'), operator: '=', value: owner };
}
