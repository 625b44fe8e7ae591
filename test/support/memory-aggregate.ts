// Figures over objects in memory, by the rules of the port and without SQL.
import type { KindDefinition } from '../../src/api/kind.ts';
import {
  type Aggregate,
  type AggregateGroup,
  type AggregateQuery,
  type AggregateValue,
  aggregatePlan,
  countsOnce,
  MAX_SORTED,
  refuseSorting,
  wholeAggregate,
} from '../../src/storage/aggregate.ts';
import type { QueryField } from '../../src/storage/fields.ts';
import { fromSqlTime } from '../../src/storage/mysql/sql-time.ts';
import { ORIGIN_KEY } from '../../src/storage/owners.ts';
import { columnOf, compareValues, type MemoryEntry, matches, type Value } from './memory-list.ts';

export function aggregateInMemory(
  kind: KindDefinition,
  query: AggregateQuery,
  entries: readonly MemoryEntry[],
): Aggregate {
  const plan = aggregatePlan(kind, query);
  const isLeftOut = countsOnce(query) ? restoredAmong(entries) : () => false;
  const matching = entries.filter((entry) => matches(kind, query, entry) && !isLeftOut(entry));
  if (matching.length > MAX_SORTED && plan.figures.some(({ figure }) => figure === 'p50')) refuseSorting();
  const keyOf = ({ row }: MemoryEntry): readonly Value[] =>
    plan.keys.map(({ field, length }) => {
      const value = columnOf(kind, row, field);
      return length === undefined || value === null ? value : String(value).slice(0, length);
    });
  const byKey = Map.groupBy(matching, (entry) => JSON.stringify(keyOf(entry)));
  if (plan.keys.length === 0 && byKey.size === 0) byKey.set('[]', []);
  const groups = [...byKey].map(([text, members]) => {
    const raw = JSON.parse(text) as readonly Value[];
    const group: AggregateGroup = {
      key: plan.keys.map(({ field, length }, index) =>
        shown(length === undefined ? field : undefined, raw[index] ?? null),
      ),
      count: members.length,
      figures: plan.figures.map(({ figure, field }) => {
        const values = members.map(({ row }) => columnOf(kind, row, field)).filter((value) => value !== null);
        const sorted = values.toSorted(compareValues);
        const at = { min: 0, max: sorted.length - 1, p50: Math.ceil(sorted.length / 2) - 1 }[figure];
        return shown(field, sorted[at] ?? null);
      }),
    };
    return { raw, group };
  });
  const sorted = groups.toSorted(
    (left, right) =>
      (plan.limit === undefined ? 0 : right.group.count - left.group.count) || compareKeys(left.raw, right.raw),
  );
  return wholeAggregate(
    sorted.map(({ group }) => group),
    plan,
  );
}

/** Whether one of the same name that is not deleted was restored from an entry. */
function restoredAmong(entries: readonly MemoryEntry[]): (entry: MemoryEntry) => boolean {
  const names = ({ row }: MemoryEntry, uid: string | undefined): string =>
    JSON.stringify([row.namespace, row.name, uid]);
  const origins = entries
    .filter(({ stored }) => stored.state !== 'deleted')
    .map((entry) => names(entry, entry.row.owners?.find(([key]) => key === ORIGIN_KEY)?.[1]));
  const known = new Set(origins);
  return (entry) => known.has(names(entry, entry.row.uid));
}

function compareKeys(left: readonly Value[], right: readonly Value[]): number {
  const differences = left.map((value, index) => compareValues(value, right[index] ?? null));
  return differences.find((difference) => difference !== 0) ?? 0;
}

function shown(field: QueryField | undefined, value: Value): AggregateValue {
  if (value === null || field === undefined) return value;
  if (field.type === 'bool') return value === 1;
  return field.type === 'time' ? fromSqlTime(String(value)) : value;
}
