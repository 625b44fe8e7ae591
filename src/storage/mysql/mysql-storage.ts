import type { KindDefinition } from '../../api/kind.ts';
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { StorageContentionError, StorageSchemaMissingError } from '../errors.ts';
import type { MetadataStorage, StoredObject, WriteOutcome } from '../metadata-storage.ts';
import type { ObjectRow, RowState } from '../row.ts';
import { type MysqlOptions, MysqlPool, type SqlParameter, type SqlSession } from './pool.ts';
import { fromSqlTime, toSqlTime } from './sql-time.ts';
import { rowStateNumber, statementsFor } from './statements.ts';
import { tablesOf } from './tables.ts';

/** The end-of-life columns of a write. */
interface Ending {
  readonly statement: 'write' | 'finish';
  readonly state: RowState;
  readonly evictRequestTime?: Date;
  readonly deleteTime?: Date;
}

/** Rows of label and annotation inserts: few distinct statements, so that each is prepared once per connection. */
const PAIR_BATCHES = [8, 1] as const;
const CONTENTION_TRIES = 5;
const contentionBackoff = { baseMs: 10, capMs: 200, jitter: 1 };

/** One transaction per object: main row, labels and annotations change together or not at all. */
export class MysqlMetadataStorage implements MetadataStorage {
  readonly #pool: MysqlPool;
  readonly #clock: Clock;
  readonly #closed = new AbortController();

  constructor(options: MysqlOptions, clock: Clock) {
    this.#pool = new MysqlPool(options, clock);
    this.#clock = clock;
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
    return this.#get(kind, statementsFor(kind).selectById, [uid]);
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#get(kind, statementsFor(kind).selectByName, [namespace, name]);
  }

  async check(kinds: readonly KindDefinition[]): Promise<void> {
    const present = await this.#pool.read((session) =>
      session.query('SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = DATABASE()'),
    );
    const names = new Set(present.map(([name]) => String(name)));
    const missing = kinds.flatMap(tablesOf).filter((table) => !names.has(table));
    if (missing.length > 0) {
      throw new StorageSchemaMissingError(
        `${missing.length} tables are missing (${missing.slice(0, 3).join(', ')}, ...)`,
      );
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#pool.close();
  }

  async #write(row: ObjectRow, ending: Ending): Promise<WriteOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#pool.transaction((session) => this.#writeOnce(session, row, ending));
      } catch (error) {
        if (!(error instanceof StorageContentionError) || attempt === CONTENTION_TRIES) throw error;
        await sleep(this.#clock, backoffMs(contentionBackoff, attempt), this.#closed.signal);
      }
    }
  }

  async #writeOnce(session: SqlSession, row: ObjectRow, ending: Ending): Promise<WriteOutcome> {
    const statements = statementsFor(row.kind);
    const parameters = this.#parameters(row, ending);
    const affected = await session.execute(statements[ending.statement], parameters);
    if (affected === 0) return notApplied(session, row);
    if (affected !== 1) {
      await session.execute(statements.deleteLabels, [row.uid]);
      await session.execute(statements.deleteAnnotations, [row.uid]);
    }
    await insertPairs(session, row.uid, row.labels, statements.insertLabels);
    await insertPairs(session, row.uid, row.annotations, statements.insertAnnotations);
    return affected === 1 ? 'inserted' : 'updated';
  }

  /** In the order of `parameterColumns`. */
  #parameters(row: ObjectRow, ending: Ending): readonly SqlParameter[] {
    const indexed = row.kind.indexes.flat().map((column, position) => {
      const value = row.columns[position] ?? null;
      return column.type === 'time' && typeof value === 'string' ? toSqlTime(value) : value;
    });
    return [
      row.uid,
      row.groupVersion,
      row.namespace,
      row.name,
      row.generation,
      row.contentHash,
      toSqlTime(row.createTime),
      toSqlTime(this.#clock.now().toISOString()),
      row.proto,
      row.json,
      ...indexed,
      null,
      sqlTimeOrNull(ending.deleteTime),
      sqlTimeOrNull(ending.evictRequestTime),
      rowStateNumber(ending.state),
      row.resourceVersion,
    ];
  }

  #get(kind: KindDefinition, sql: string, parameters: readonly string[]): Promise<StoredObject | undefined> {
    return this.#pool.read(async (session) => {
      const [found] = await session.query(sql, parameters);
      if (found === undefined) return undefined;
      const uid = String(found[0]);
      const statements = statementsFor(kind);
      const labels = await session.query(statements.selectLabels, [uid]);
      const annotations = await session.query(statements.selectAnnotations, [uid]);
      return toStoredObject(found as SelectedRow, pairsOf(labels), pairsOf(annotations));
    });
  }
}

function sqlTimeOrNull(time: Date | undefined): string | null {
  return time === undefined ? null : toSqlTime(time.toISOString());
}

/** An upsert that changed nothing met the same state or a newer one. */
async function notApplied(session: SqlSession, row: ObjectRow): Promise<WriteOutcome> {
  const [stored] = await session.query(statementsFor(row.kind).selectVersion, [row.uid]);
  return stored?.[0] === row.resourceVersion ? 'unchanged' : 'stale';
}

async function insertPairs(
  session: SqlSession,
  uid: string,
  pairs: readonly (readonly [string, string])[],
  insert: (rows: number) => string,
): Promise<void> {
  let position = 0;
  for (const size of PAIR_BATCHES) {
    for (; pairs.length - position >= size; position += size) {
      const batch = pairs.slice(position, position + size);
      await session.execute(
        insert(size),
        batch.flatMap(([key, value]) => [uid, key, value]),
      );
    }
  }
}

/** In the order of the SELECT list in statements.ts. */
type SelectedRow = readonly [
  uid: string,
  namespace: string,
  name: string,
  resourceVersion: string,
  state: number,
  updateTime: string,
  deleteTime: string | null,
  evictTime: string | null,
  json: string,
  proto: Uint8Array,
];

function toStoredObject(
  row: SelectedRow,
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): StoredObject {
  const [uid, namespace, name, resourceVersion, state, updateTime, deleteTime, evictTime, json, proto] = row;
  return {
    uid,
    namespace,
    name,
    resourceVersion,
    state: stateName(state, evictTime),
    updateTime: fromSqlTime(updateTime),
    deleteTime: deleteTime === null ? undefined : fromSqlTime(deleteTime),
    evictTime: evictTime === null ? undefined : fromSqlTime(evictTime),
    json,
    proto: new Uint8Array(proto),
    labels,
    annotations,
  };
}

function stateName(state: number, evictTime: string | null): StoredObject['state'] {
  if (state === rowStateNumber('live')) return 'live';
  if (state === rowStateNumber('evicting')) return 'evicting';
  return evictTime === null ? 'deleted' : 'evicted';
}

function pairsOf(rows: readonly (readonly unknown[])[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map(([key, value]) => [String(key), String(value)]));
}
