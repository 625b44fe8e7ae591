// The world of a cell in memory: the fake API server and the in-memory storage, both held to the real ones by contract
// suites.
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { MetadataStorage, StoredObject } from '../../../src/storage/metadata-storage.ts';
import type { ObjectRow } from '../../../src/storage/row.ts';
import { FakeApiServer } from '../fake-api-server.ts';
import { MemoryStorage } from '../memory-storage.ts';
import { kindNamed } from '../objects.ts';
import type { Evidence, Life } from './history.ts';
import type { Stage } from './run.ts';
import { SECRET, tracesOf } from './traces.ts';

const kind = kindNamed('RayJob');

export function modelStage(): Stage {
  const client = new FakeApiServer();
  client.install(kind.plural);
  const objects = client.of(kind.plural);
  const memory = new MemoryStorage();
  const versions = new Map<string, readonly string[]>();
  const rowsAtTheEnd = new Map<string, Promise<StoredObject | undefined>>();
  objects.onErase = ({ metadata }) => rowsAtTheEnd.set(metadata.uid, memory.getById(kind, metadata.uid));
  const storage = observed(memory, versions, memory);
  const resource = { group: 'michelangelo.api', version: 'v2', plural: kind.plural };
  const stage: Stage = {
    kind,
    ref: { resource, namespace: 'a-namespace', name: 'an-object' },
    client,
    storage,
    wait: () => Promise.resolve(),
    rest: () => Promise.resolve(),
    evidence: async (removal): Promise<Evidence> => {
      const lives = livesOf(objects.history());
      const rows = new Map<string, StoredObject>();
      const ends = new Map<string, StoredObject | undefined>();
      for (const { uid } of lives) {
        const row = await memory.getById(kind, uid);
        if (row !== undefined) rows.set(uid, row);
        if (rowsAtTheEnd.has(uid)) ends.set(uid, await rowsAtTheEnd.get(uid));
      }
      const traces = JSON.stringify([[...rows.values()], tracesOf(stage).logger.lines, tracesOf(stage).events]);
      return { lives, rows, versions, rowsAtTheEnd: ends, traces, secrets: [SECRET], removal };
    },
  };
  return stage;
}

/**
 * The storage, with a note of the row's version after every write. What an operator sets back begins anew, and does so
 * before the write, whose answer may be lost.
 */
export function observed(
  storage: MetadataStorage,
  versions: Map<string, readonly string[]>,
  looker: Pick<MetadataStorage, 'getById'>,
): MetadataStorage {
  const writes: ReadonlySet<string | symbol> = new Set(['upsert', 'requestEviction', 'delete', 'finish', 'replace']);
  return new Proxy(storage, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      if (!writes.has(property)) return method;
      return async (...args: readonly unknown[]) => {
        const { kind, uid } = args[0] as ObjectRow;
        if (property === 'replace') versions.delete(uid);
        const outcome = await method(...args);
        const stored = await looker.getById(kind, uid);
        versions.set(uid, [...(versions.get(uid) ?? []), stored?.resourceVersion ?? '0']);
        return outcome;
      };
    },
  });
}

export function livesOf(
  events: readonly { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }[],
): readonly Life[] {
  const lives = new Map<string, { readonly states: KubernetesObject[]; gone: boolean }>();
  for (const { type, object } of events) {
    const life = lives.get(object.metadata.uid) ?? { states: [], gone: false };
    life.states.push(object);
    life.gone ||= type === 'DELETED';
    lives.set(object.metadata.uid, life);
  }
  return [...lives].map(([uid, { states, gone }]) => ({ uid, states, gone }));
}
