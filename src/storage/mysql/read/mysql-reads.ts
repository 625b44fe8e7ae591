// The reads of MySQL, each on a connection of its own.
import type { KindDefinition } from '../../../api/kind.ts';
import type { ListQuery } from '../../list-query.ts';
import type {
  IdentityQuery,
  Incarnation,
  ListPage,
  StorageReads,
  StoredIdentity,
  StoredObject,
  StoredPosition,
  Tombstone,
  TombstoneQuery,
} from '../../metadata-storage.ts';
import type { MysqlPool, SqlSession } from '../pool.ts';
import { exactly, hasName } from './conditions.ts';
import { readIdentities, readIncarnations, readTombstones } from './identities.ts';
import { listObjects, readNamespaces } from './list.ts';
import { readObject } from './object-reads.ts';
import { readPositions } from './positions.ts';

export class MysqlReads implements StorageReads {
  readonly #pool: MysqlPool;
  readonly #signal: AbortSignal | undefined;

  /** The signal ends every read. */
  constructor(pool: MysqlPool, signal?: AbortSignal) {
    this.#pool = pool;
    this.#signal = signal;
  }

  positions(): Promise<readonly StoredPosition[]> {
    return this.#read(readPositions);
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    return this.#read((session) => readObject(session, kind, exactly('`uid`', [uid])));
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#read((session) => readObject(session, kind, hasName(namespace, name)));
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    return this.#read((session) => listObjects(session, kind, query));
  }

  identities(kind: KindDefinition, query: IdentityQuery): Promise<readonly StoredIdentity[]> {
    return this.#read((session) => readIdentities(session, kind, query));
  }

  tombstones(kind: KindDefinition, query: TombstoneQuery): Promise<readonly Tombstone[]> {
    return this.#read((session) => readTombstones(session, kind, query));
  }

  incarnations(kind: KindDefinition, namespace: string, name: string, limit: number): Promise<readonly Incarnation[]> {
    return this.#read((session) => readIncarnations(session, kind, { namespace, name, limit }));
  }

  namespaces(kind: KindDefinition, limit: number): Promise<readonly string[]> {
    return this.#read((session) => readNamespaces(session, kind, limit));
  }

  #read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#pool.read(work, this.#signal);
  }
}
