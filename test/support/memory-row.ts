// A row of the storage in memory, and what readers are given of it.
import type { StoredObject } from '../../src/storage/metadata-storage.ts';
import type { ObjectRow, RowState } from '../../src/storage/row.ts';
import type { MemoryEntry } from './memory-list.ts';

export interface MemoryRow {
  readonly row: ObjectRow;
  readonly state: RowState;
  readonly evictRequested: boolean;
  readonly deleteTime: string | undefined;
  readonly evictTime: string | undefined;
  readonly deleteReason: string | undefined;
  readonly adopted?: true;
  readonly updateTime?: string;
}

export function toEntry(found: MemoryRow): MemoryEntry {
  return { row: found.row, stored: toStored(found) };
}

export function toStored({ row, state, deleteTime, evictTime, updateTime = '' }: MemoryRow): StoredObject {
  return {
    uid: row.uid,
    ...(row.key === undefined ? {} : { key: row.key }),
    namespace: row.namespace,
    name: row.name,
    resourceVersion: row.resourceVersion,
    state,
    updateTime,
    deleteTime,
    evictTime,
    json: row.json,
    contentHash: row.contentHash,
    proto: row.proto,
    labels: Object.fromEntries(row.labels),
    annotations: Object.fromEntries(row.annotations),
  };
}
