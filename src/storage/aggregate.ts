// Figures over the stored objects of one kind, in groups of equal values. Only what has a column can be asked for.
import type { KindDefinition } from '../api/kind.ts';
import { QueryUnsupportedError } from './errors.ts';
import { type QueryField, queryField, queryFieldNames } from './fields.ts';
import type { ListQuery } from './list-query.ts';

export const figures = ['min', 'max', 'p50'] as const;

/**
 * Over the values that there are, of a whole number or a time. `p50` is the lower median: the smallest value that at least
 * half of the values do not exceed.
 */
export interface Figure {
  readonly figure: (typeof figures)[number];
  /** As in a condition. */
  readonly field: string;
}

export interface AggregateQuery
  extends Pick<ListQuery, 'namespace' | 'namespaces' | 'labels' | 'annotations' | 'where' | 'deleted' | 'states'> {
  /**
   * Up to two fields, as in a condition; of a time its day or month in UTC: `metadata.creationTimestamp.day`. Without any,
   * everything is one group, also where nothing matches.
   */
  readonly groupBy?: readonly string[];
  /** Up to eight. With `p50` the query is refused where more than 100,000 objects match. */
  readonly figures?: readonly Figure[];
  /**
   * So many of the largest groups, 1 to 1000, the largest first. Without it all groups in the order of their keys, a
   * missing value first; more than 1000 are refused.
   */
  readonly limit?: number;
  /**
   * Where there are many objects, look at one in so many of them and multiply what is counted; without `min` and `max`,
   * which a part does not tell.
   */
  readonly approximate?: 'yes' | 'no';
}

/** Times are RFC 3339 with microseconds, a day is `2026-01-31`, a month `2026-01`. */
export type AggregateValue = string | number | boolean | null;

export interface AggregateGroup {
  /** In the order of `groupBy`; null where the objects have no value. */
  readonly key: readonly AggregateValue[];
  readonly count: number;
  /** In the order of `figures`; null where no object of the group has a value. */
  readonly figures: readonly AggregateValue[];
}

export interface Aggregate {
  readonly groups: readonly AggregateGroup[];
  /** Whether a limit left groups out. */
  readonly more: 'some' | 'none';
  /** One in so many objects was looked at; 1 where it was each. */
  readonly oneIn: number;
}

export const MAX_GROUPS = 1000;
/** A median sorts everything that matches. */
export const MAX_SORTED = 100_000;
/** About as many are looked at for an approximate answer, and all where there are no more. */
export const SAMPLED = 10_000;
const MOST_KEYS = 2;
const MOST_FIGURES = 8;

/** Characters that each unit has of a time in RFC 3339. */
const unitLengths = { day: 10, month: 7 } as const;

export interface GroupKey {
  readonly field: QueryField;
  /** Of a time only so many characters count. */
  readonly length?: number;
}

/** What is asked, with its columns. */
export interface AggregatePlan {
  readonly keys: readonly GroupKey[];
  readonly figures: readonly { readonly figure: Figure['figure']; readonly field: QueryField }[];
  /** Undefined: all groups. */
  readonly limit: number | undefined;
}

/** Throws QueryUnsupportedError with what is supported. */
export function aggregatePlan(kind: KindDefinition, query: AggregateQuery): AggregatePlan {
  const { groupBy = [], figures: asked = [], limit, approximate } = query;
  if (groupBy.length > MOST_KEYS) throw new QueryUnsupportedError(`groups by more than ${MOST_KEYS} fields`, []);
  if (asked.length > MOST_FIGURES) throw new QueryUnsupportedError(`more than ${MOST_FIGURES} figures`, []);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_GROUPS)) {
    throw new QueryUnsupportedError(`a limit that is not from 1 to ${MAX_GROUPS} groups`, []);
  }
  if (approximate === 'yes' && asked.some(({ figure }) => figure !== 'p50')) {
    throw new QueryUnsupportedError('approximate min or max', ['count', 'p50']);
  }
  return {
    keys: groupBy.map((name) => groupKey(kind, name)),
    figures: asked.map(({ figure, field }) => ({ figure, field: measurable(kind, figure, field) })),
    limit,
  };
}

/**
 * Whether what is live and what is evicted is counted together: then an evicted object is left out where one that was restored
 * from it under its name is not deleted.
 */
export function countsOnce({ states, deleted }: Pick<AggregateQuery, 'states' | 'deleted'>): boolean {
  return states === undefined && deleted !== 'included';
}

/** The page as it was read, with one group more than fits where there are more. */
export function wholeAggregate(found: readonly AggregateGroup[], { limit }: AggregatePlan, oneIn = 1): Aggregate {
  const groups = found.map((group) => ({ ...group, count: group.count * oneIn }));
  if (limit !== undefined) {
    return { groups: groups.slice(0, limit), more: groups.length > limit ? 'some' : 'none', oneIn };
  }
  if (groups.length <= MAX_GROUPS) return { groups, more: 'none', oneIn };
  throw new QueryUnsupportedError(
    `more than ${MAX_GROUPS} groups; ask for the largest with a limit, or for fewer objects`,
    [],
  );
}

export function refuseSorting(): never {
  throw new QueryUnsupportedError(
    `p50 of more than ${MAX_SORTED} objects; ask for fewer, by namespace, selector or time`,
    [],
  );
}

function groupKey(kind: KindDefinition, name: string): GroupKey {
  const unit = (['day', 'month'] as const).find((one) => name.endsWith(`.${one}`));
  const fieldName = unit === undefined ? name : name.slice(0, -unit.length - 1);
  const fields = visibleFields(kind, fieldName);
  const [field] = fields;
  if (field !== undefined && (field.type === 'time') === (unit !== undefined) && field.column !== 'uid') {
    return unit === undefined ? { field } : { field, length: unitLengths[unit] };
  }
  throw new QueryUnsupportedError(`groups by "${name.slice(0, 100)}"`, groupNames(kind));
}

function measurable(kind: KindDefinition, figure: Figure['figure'], name: string): QueryField {
  const [field] = visibleFields(kind, name);
  if (field !== undefined && isMeasurable(field)) return field;
  const supported = queryFieldNames(kind).filter((one) => visibleFields(kind, one).some(isMeasurable));
  throw new QueryUnsupportedError(`${figure} of "${name.slice(0, 100)}"`, supported);
}

function isMeasurable({ type }: QueryField): boolean {
  return type === 'int' || type === 'time';
}

/** The names that `groupBy` takes, sorted. */
export function groupNames(kind: KindDefinition): readonly string[] {
  return queryFieldNames(kind).flatMap((name) => {
    const [field] = visibleFields(kind, name);
    if (field === undefined || field.column === 'uid') return [];
    return field.type === 'time' ? Object.keys(unitLengths).map((unit) => `${name}.${unit}`) : [name];
  });
}

/** The field of that name, or none: a group would show the values of a sensitive one. */
function visibleFields(kind: KindDefinition, name: string): readonly QueryField[] {
  const known = queryFieldNames(kind).find((one) => one === name || queryField(kind, one).column === name);
  if (known === undefined) return [];
  const hidden = kind.sensitive.some((path) => `${known}.`.startsWith(`${path.join('.')}.`));
  return hidden ? [] : [queryField(kind, known)];
}
