import type { KindDefinition } from '../../api/kind.ts';
import type { Clock } from '../../base/clock.ts';
import { StorageSchemaMissingError } from '../errors.ts';
import type { ListQuery } from '../list-query.ts';
import type { ListPage, MetadataStorage, StoredObject, WriteOutcome } from '../metadata-storage.ts';
import type { ObjectRow } from '../row.ts';
import { writeBatch } from './batch-writer.ts';
import { closeGate, openGate, passGate } from './gate.ts';
import { GroupCommit } from './group-commit.ts';
import { listObjects } from './list.ts';
import { readObject } from './object-reads.ts';
import { type Ending, pendingWrite } from './pending-write.ts';
import { type MysqlOptions, MysqlPool } from './pool.ts';
import { tablesOf } from './tables.ts';

/** Measured: more lanes than this make the transactions smaller without making them faster. */
const LANES = 3;
const BATCH = { maxRows: 128, maxBytes: 4 * 1024 * 1024 };
const LINGER_MS = 2;
const QUEUE_BYTES = 64 * 1024 * 1024;

/** Group commit: the main row, labels and annotations of an object change together or not at all. */
export class MysqlMetadataStorage implements MetadataStorage {
  readonly #pool: MysqlPool;
  readonly #clock: Clock;
  readonly #commits: GroupCommit;

  constructor(options: MysqlOptions, clock: Clock) {
    this.#pool = new MysqlPool(options, clock);
    this.#clock = clock;
    this.#commits = new GroupCommit({
      commit: (writes) =>
        this.#pool.transaction(async (session) => {
          await passGate(session);
          return writeBatch(session, writes);
        }),
      lanes: Math.max(1, Math.min(LANES, options.maxOpenConns - 1)),
      batch: BATCH,
      lingerMs: LINGER_MS,
      queueBytes: QUEUE_BYTES,
      clock,
    });
  }

  upsert(row: ObjectRow): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'live' });
  }

  requestEviction(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'evicting', evictRequestTime: at });
  }

  delete(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'ended', deleteTime: at });
  }

  finish(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'finish', state: 'ended', deleteTime: at });
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    return this.#pool.read((session) => readObject(session, kind, 'uid', [uid]));
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#pool.read((session) => readObject(session, kind, 'name', [namespace, name]));
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    return this.#pool.read((session) => listObjects(session, kind, query));
  }

  closeGate(holder: string, reason: string): Promise<void> {
    return this.#pool.transaction((session) => closeGate(session, holder, reason));
  }

  openGate(holder: string): Promise<void> {
    return this.#pool.transaction((session) => openGate(session, holder));
  }

  async check(kinds: readonly KindDefinition[]): Promise<void> {
    const present = await this.#pool.read((session) =>
      session.query('SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = DATABASE()'),
    );
    const names = new Set(present.map(([name]) => String(name)));
    const missing = [...kinds.flatMap(tablesOf), 'ingester_gate'].filter((table) => !names.has(table));
    if (missing.length > 0) {
      throw new StorageSchemaMissingError(
        `${missing.length} tables are missing (${missing.slice(0, 3).join(', ')}, ...)`,
      );
    }
  }

  /** Writes that were taken are settled first. */
  async close(): Promise<void> {
    await this.#commits.close();
    await this.#pool.close();
  }

  #write(row: ObjectRow, ending: Ending): Promise<WriteOutcome> {
    return this.#commits.submit(pendingWrite(row, ending, this.#clock.now()));
  }
}
