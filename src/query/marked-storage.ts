// The reads of one cluster among several: what they find says where it is.
import type { ChangeReads, StorageReads, StoredObject } from '../storage/metadata-storage.ts';
import type { QueryStorage } from './options.ts';
import type { FoundObject } from './present.ts';

export function marked(storage: QueryStorage, cluster: string): QueryStorage {
  return {
    get gateState() {
      return storage.gateState;
    },
    until: (signal) => markedReads(storage.until(signal), cluster),
  };
}

function markedReads(reads: StorageReads & ChangeReads, cluster: string): StorageReads & ChangeReads {
  const here = (stored: StoredObject): FoundObject => ({ ...stored, cluster });
  const ifFound = (stored: StoredObject | undefined): FoundObject | undefined => stored && here(stored);
  return {
    positions: () => reads.positions(),
    getById: async (kind, uid) => ifFound(await reads.getById(kind, uid)),
    getByName: async (kind, namespace, name) => ifFound(await reads.getByName(kind, namespace, name)),
    list: async (kind, query) => {
      const page = await reads.list(kind, query);
      return { ...page, items: page.items.map(here) };
    },
    aggregate: (kind, query) => reads.aggregate(kind, query),
    identities: (kind, query) => reads.identities(kind, query),
    tombstones: (kind, query) => reads.tombstones(kind, query),
    incarnations: (kind, namespace, name, limit) => reads.incarnations(kind, namespace, name, limit),
    namespaces: (kind, limit) => reads.namespaces(kind, limit),
    changed: (kind, query) => reads.changed(kind, query),
  };
}
