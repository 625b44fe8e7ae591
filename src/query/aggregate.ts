// Counts and figures in groups: what is asked for, and the answer.
import type { JsonObject } from '../base/json.ts';
import {
  type Aggregate,
  type AggregateQuery,
  type AggregateValue,
  type Figure,
  figures,
} from '../storage/aggregate.ts';
import { selection, selections } from './list-query.ts';
import { type ListRequest, parseListRequest, words } from './list-request.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { Collection } from './paths.ts';

/** A name of a field as it was asked for, which is a key of the answer, and as the storage has it. */
interface Named {
  readonly name: string;
  readonly field: string;
}

export interface AggregateRequest extends ListRequest {
  readonly groupBy: readonly Named[];
  readonly figures: readonly (Named & Pick<Figure, 'figure'>)[];
  readonly approximate: boolean;
}

const shortNames = [
  ['created', 'metadata.creationTimestamp'],
  ['updated', 'metadata.updateTimestamp'],
] as const;

/** `created.day` is `metadata.creationTimestamp.day`. Throws BadRequest as for a list. */
export function parseAggregate(query: URLSearchParams): AggregateRequest {
  const named = (parameter: string): readonly Named[] =>
    [...new Set(words(query.get(parameter) ?? ''))].map((name) => ({ name, field: fieldOf(name) }));
  return {
    ...parseListRequest(query, 'aggregate'),
    approximate: query.get('approximate') === 'true',
    groupBy: named('groupBy'),
    figures: figures.flatMap((figure) => named(figure).map((one) => ({ ...one, figure }))),
  };
}

function fieldOf(name: string): string {
  const short = shortNames.find(([known]) => name === known || name.startsWith(`${known}.`));
  return short === undefined ? name : `${short[1]}${name.slice(short[0].length)}`;
}

export function aggregateQuery(
  collection: Collection,
  among: readonly string[] | undefined,
  asked: AggregateRequest,
): AggregateQuery {
  return {
    ...selection(collection, among, asked),
    ...selections[asked.source],
    groupBy: asked.groupBy.map(({ field }) => field),
    figures: asked.figures,
    ...(asked.limit === undefined ? {} : { limit: asked.limit }),
    approximate: asked.approximate ? 'yes' : 'no',
  };
}

export function aggregateDocument(
  { groupBy, figures: asked, approximate }: AggregateRequest,
  resourceVersion: string,
  { groups, more, oneIn }: Aggregate,
): JsonObject {
  return {
    kind: 'StoredAggregate',
    apiVersion: STORED_GROUP_VERSION,
    metadata: { resourceVersion },
    truncated: more === 'some',
    ...(approximate ? { oneIn } : {}),
    items: groups.map(({ key, count, figures: values }) => {
      const valuesOf = (figure: Figure['figure']): readonly (readonly [string, AggregateValue])[] =>
        asked.flatMap((one, index) => (one.figure === figure ? [[one.name, values[index] ?? null] as const] : []));
      const measured = figures.map((figure) => [figure, Object.fromEntries(valuesOf(figure))] as const);
      return {
        group: Object.fromEntries(groupBy.map(({ name }, index) => [name, key[index] ?? null])),
        count,
        ...Object.fromEntries(measured.filter(([, found]) => Object.keys(found).length > 0)),
      };
    }),
  };
}
