import type { KindDefinition } from '../../src/api/kind.ts';
import { GateClosedError, GateHeldError, StorageUnavailableError } from '../../src/storage/errors.ts';
import type { ListQuery } from '../../src/storage/list-query.ts';
import type { ListPage, MetadataStorage, StoredObject, WriteOutcome } from '../../src/storage/metadata-storage.ts';
import { type ObjectRow, type RowState, rowStates } from '../../src/storage/row.ts';
import { listInMemory } from './memory-list.ts';

interface MemoryRow {
  readonly row: ObjectRow;
  readonly state: RowState;
  readonly evictRequested: boolean;
  readonly deleteTime: string | undefined;
  readonly evictTime: string | undefined;
}

type Ending = Omit<MemoryRow, 'row'>;
const live: Ending = { state: 'live', evictRequested: false, deleteTime: undefined, evictTime: undefined };

/** MetadataStorage in memory, for unit tests; the contract suite holds it to what MySQL does. */
export class MemoryStorage implements MetadataStorage {
  readonly #rows = new Map<string, MemoryRow>();
  #gateHolder: string | undefined;
  /** Names of the methods called, in order. */
  readonly calls: string[] = [];
  /** While true every call fails as if the server were down. */
  down = false;

  upsert(row: ObjectRow): Promise<WriteOutcome> {
    return this.#write('upsert', row, () => live);
  }

  requestEviction(row: ObjectRow, _at: Date): Promise<WriteOutcome> {
    return this.#write('requestEviction', row, () => ({ ...live, state: 'evicting', evictRequested: true }));
  }

  delete(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write('delete', row, () => ({ ...live, state: 'ended', deleteTime: micros(at) }));
  }

  finish(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write('finish', row, (stored) =>
      stored?.evictRequested === true
        ? { ...live, state: 'ended', evictRequested: true, evictTime: micros(at) }
        : { ...live, state: 'ended', deleteTime: micros(at) },
    );
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    const found = this.#rows.get(`${kind.table}/${uid}`);
    return this.#answer('getById', () => (found === undefined ? undefined : toStored(found)));
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#answer('getByName', () =>
      [...this.#rows.values()]
        .filter(({ row }) => row.kind === kind && row.namespace === namespace && row.name === name)
        .map(toStored)
        .sort((left, right) => rank(left) - rank(right) || (this.#created(left) < this.#created(right) ? 1 : -1))
        .at(0),
    );
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    const entries = [...this.#rows.values()]
      .filter(({ row }) => row.kind === kind)
      .map((found) => ({ row: found.row, stored: toStored(found) }));
    return this.#answer('list', () => listInMemory(kind, query, entries));
  }

  closeGate(holder: string): Promise<void> {
    return this.#answer('closeGate', () => this.#moveGate(holder, holder));
  }

  openGate(holder: string): Promise<void> {
    return this.#answer('openGate', () => this.#moveGate(holder, undefined));
  }

  #moveGate(holder: string, next: string | undefined): void {
    if (this.#gateHolder !== undefined && this.#gateHolder !== holder) throw new GateHeldError(this.#gateHolder);
    this.#gateHolder = next;
  }

  check(): Promise<void> {
    return this.#answer('check', () => undefined);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #created(stored: StoredObject): string {
    const entry = [...this.#rows.values()].find(({ row }) => row.uid === stored.uid);
    return entry?.row.createTime ?? '';
  }

  #write(call: string, row: ObjectRow, end: (stored: MemoryRow | undefined) => Ending): Promise<WriteOutcome> {
    return this.#answer(call, () => {
      if (this.#gateHolder !== undefined) throw new GateClosedError(this.#gateHolder);
      const key = `${row.kind.table}/${row.uid}`;
      const stored = this.#rows.get(key);
      const next = { row, ...end(stored) };
      if (stored === undefined) {
        this.#rows.set(key, next);
        return 'inserted';
      }
      const newer = compareVersions(row, stored.row);
      const movesOn = rowStates.indexOf(next.state) > rowStates.indexOf(stored.state);
      if (newer < 0) return 'stale';
      if (newer === 0 && !movesOn) return 'unchanged';
      this.#rows.set(key, next);
      return 'updated';
    });
  }

  #answer<T>(call: string, work: () => T): Promise<T> {
    this.calls.push(call);
    if (this.down) return Promise.reject(new StorageUnavailableError('ECONNREFUSED', undefined));
    return new Promise((resolve) => resolve(work()));
  }
}

function compareVersions(left: ObjectRow, right: ObjectRow): number {
  const difference = BigInt(left.resourceVersion) - BigInt(right.resourceVersion);
  return difference > 0n ? 1 : difference < 0n ? -1 : 0;
}

function rank(stored: StoredObject): number {
  if (stored.deleteTime !== undefined) return 2;
  return stored.evictTime === undefined ? 0 : 1;
}

function micros(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}

function toStored({ row, state, deleteTime, evictTime }: MemoryRow): StoredObject {
  return {
    uid: row.uid,
    namespace: row.namespace,
    name: row.name,
    resourceVersion: row.resourceVersion,
    state: state === 'ended' ? (evictTime === undefined ? 'deleted' : 'evicted') : state,
    updateTime: '',
    deleteTime,
    evictTime,
    json: row.json,
    proto: row.proto,
    labels: Object.fromEntries(row.labels),
    annotations: Object.fromEntries(row.annotations),
  };
}
