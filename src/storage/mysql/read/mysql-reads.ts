// The reads of MySQL, each on a connection of its own.
import type { KindDefinition } from '../../../api/kind.ts';
import type { Aggregate, AggregateQuery } from '../../aggregate.ts';
import type { ListQuery } from '../../list-query.ts';
import type {
  ChangedQuery,
  ChangedRow,
  ChangeReads,
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
import type { OwnCluster } from '../clusters.ts';
import type { MysqlPool, SqlSession } from '../pool.ts';
import type { TableNaming } from '../schema/table-naming.ts';
import { readAggregate } from './aggregate.ts';
import { exactly, hasName } from './conditions.ts';
import { readChangedRows, readIdentities, readIncarnations } from './identities.ts';
import { listObjects, readNamespaces } from './list.ts';
import { readObject } from './object-reads.ts';
import { readNewestChanges, readPositions } from './positions.ts';
import { readTombstones } from './tombstones.ts';

export class MysqlReads implements StorageReads, ChangeReads {
  readonly #pool: MysqlPool;
  readonly #naming: TableNaming;
  readonly #own: OwnCluster;
  readonly #signal: AbortSignal | undefined;

  /** The signal ends every read. */
  constructor(pool: MysqlPool, naming: TableNaming, own: OwnCluster, signal?: AbortSignal) {
    this.#pool = pool;
    this.#naming = naming;
    this.#own = own;
    this.#signal = signal;
  }

  positions(): Promise<readonly StoredPosition[]> {
    return this.#read(readPositions);
  }

  newestChanges(): Promise<ReadonlyMap<string, string>> {
    return this.#read(readNewestChanges);
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    return this.#ofKind(kind, async (session, named) => {
      const own = await readObject(session, named, exactly('`uid`', [uid]));
      return own?.uid === uid ? own : readObject(session, named, exactly('`object_uid`', [uid]));
    });
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#ofKind(kind, (session, named) => readObject(session, named, hasName(namespace, name)));
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    return this.#ofKind(kind, (session, named) => listObjects(session, named, query));
  }

  aggregate(kind: KindDefinition, query: AggregateQuery): Promise<Aggregate> {
    return this.#ofKind(kind, (session, named) => readAggregate(session, named, query));
  }

  identities(kind: KindDefinition, query: IdentityQuery): Promise<readonly StoredIdentity[]> {
    return this.#ofKind(kind, (session, named) => readIdentities(session, named, query));
  }

  tombstones(kind: KindDefinition, query: TombstoneQuery): Promise<readonly Tombstone[]> {
    return this.#ofKind(kind, (session, named) => readTombstones(session, named, query));
  }

  incarnations(kind: KindDefinition, namespace: string, name: string, limit: number): Promise<readonly Incarnation[]> {
    return this.#ofKind(kind, (session, named) => readIncarnations(session, named, { namespace, name, limit }));
  }

  changed(kind: KindDefinition, query: ChangedQuery): Promise<readonly ChangedRow[]> {
    return this.#ofKind(kind, (session, named) => readChangedRows(session, named, query));
  }

  namespaces(kind: KindDefinition, limit: number): Promise<readonly string[]> {
    return this.#ofKind(kind, (session, named) => readNamespaces(session, named, limit));
  }

  #ofKind<T>(kind: KindDefinition, work: (session: SqlSession, named: KindDefinition) => Promise<T>): Promise<T> {
    return this.#read(async (session) => work(session, await this.#naming.of(session, kind)));
  }

  async #read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    const cluster = await this.#own.identity();
    const confirmed = async (session: SqlSession): Promise<T> => {
      await this.#own.confirm(session, cluster);
      return work(session);
    };
    return this.#pool.read(confirmed, this.#signal);
  }
}
