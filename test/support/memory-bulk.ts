// The calls of the port that change many rows, over objects in memory.
import type { KindDefinition } from '../../src/api/kind.ts';
import type { CollectionQuery } from '../../src/storage/bulk.ts';
import type { ChangedMetadata } from '../../src/storage/direct-update.ts';
import { derivedFrom } from '../../src/storage/mysql/store/backfill.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { type MemoryEntry, matches } from './memory-list.ts';

export function inCollection(
  kind: KindDefinition,
  { states, resourceVersion, ...query }: CollectionQuery,
  entry: MemoryEntry,
): boolean {
  const { stored } = entry;
  if (resourceVersion !== undefined && resourceVersion !== stored.resourceVersion) return false;
  return states.some((state) => state === stored.state) && matches(kind, { ...query, deleted: 'included' }, entry);
}

/** The row as its json says it should be, and whether that is something else. */
export function backfilled(row: ObjectRow): { readonly row: ObjectRow; readonly changed: boolean } {
  const next = { ...row, ...derivedFrom(row.kind, row.json) };
  const derived = ({ columns, labels, owners = [], annotations }: ObjectRow): string =>
    JSON.stringify([columns, [...labels, ...owners].sort(), [...annotations].sort()]);
  return { row: next, changed: derived(next) !== derived(row) };
}

export function withMetadata(row: ObjectRow, changed: ChangedMetadata): ObjectRow {
  return { ...row, ...changed };
}
