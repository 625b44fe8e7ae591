import type { KindDefinition } from '../../src/api/kind.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { Aggregate, AggregateQuery } from '../../src/storage/aggregate.ts';
import {
  type BackfillOptions,
  type BackfillProgress,
  type CollectionQuery,
  type CollectionResult,
  DEFAULT_BACKFILL_PAGE,
  DEFAULT_COLLECTION,
  type MetadataChange,
  type UpdateTarget,
} from '../../src/storage/bulk.ts';
import { changeMetadata } from '../../src/storage/direct-update.ts';
import { GateClosedError, GateHeldError, StorageUnavailableError } from '../../src/storage/errors.ts';
import type { ListQuery } from '../../src/storage/list-query.ts';
import type {
  ChangedQuery,
  ChangedRow,
  ChangeReads,
  IdentityQuery,
  Incarnation,
  ListPage,
  MetadataStorage,
  MissedDelete,
  StoredIdentity,
  StoredObject,
  StoredPosition,
  Tombstone,
  TombstoneQuery,
  WatchPosition,
  WriteOutcome,
} from '../../src/storage/metadata-storage.ts';
import { backfillLimit, identityLimit } from '../../src/storage/page-limit.ts';
import { type ParameterValues, QueryTemplates, type TemplatePage } from '../../src/storage/query-templates.ts';
import { type ObjectRow, rowStates } from '../../src/storage/row.ts';
import { aggregateInMemory } from './memory-aggregate.ts';
import { backfilled, inCollection, withMetadata } from './memory-bulk.ts';
import { listInMemory } from './memory-list.ts';
import { MemoryPositions } from './memory-positions.ts';
import { type MemoryRow, toEntry, toStored } from './memory-row.ts';

type Ending = Omit<MemoryRow, 'row'>;
const live: Ending = {
  state: 'live',
  evictRequested: false,
  deleteTime: undefined,
  evictTime: undefined,
  deleteReason: undefined,
};

/** MetadataStorage in memory, for unit tests; the contract suite holds it to what MySQL does. */
export class MemoryStorage implements MetadataStorage, ChangeReads {
  readonly #rows = new Map<string, MemoryRow>();
  /** Of rows whose key is not the uid, by what they would have under it. */
  readonly #otherIds = new Map<string, string>();
  readonly #templates = new QueryTemplates(allKinds);
  readonly #positions = new MemoryPositions();
  #gateHolder: string | undefined;
  /** Names of the methods called, in order. */
  readonly calls: string[] = [];
  /** Dates changes; without it they have no time, and `changed` finds none. */
  now: (() => Date) | undefined;
  /** While true every call fails as if the server were down. */
  down = false;

  upsert(row: ObjectRow): Promise<WriteOutcome> {
    return this.#write('upsert', row, () => live);
  }

  requestEviction(row: ObjectRow, _at: Date): Promise<WriteOutcome> {
    return this.#write('requestEviction', row, () => ({ ...live, state: 'evicting', evictRequested: true }));
  }

  delete(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write('delete', row, () => ({ ...live, state: 'deleted', deleteTime: micros(at) }));
  }

  finish(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write('finish', row, (stored) =>
      stored?.evictRequested === true || stored?.state === 'evicted'
        ? { ...live, state: 'evicted', evictRequested: true, evictTime: micros(at) }
        : { ...live, state: 'deleted', deleteTime: micros(at) },
    );
  }

  markMissedDelete(kind: KindDefinition, object: MissedDelete, at: Date, reason: string): Promise<WriteOutcome> {
    return this.#answer('markMissedDelete', () => {
      this.#passGate();
      const [key, stored] = this.#rowOf(kind, object.uid);
      if (stored === undefined) return 'unchanged';
      if (BigInt(stored.row.resourceVersion) > BigInt(object.resourceVersion)) return 'stale';
      if (stored.state !== 'live' && stored.state !== 'evicting') return 'unchanged';
      const { keptBefore } = object;
      const kept = keptBefore !== undefined && Date.parse(stored.row.createTime) < keptBefore.getTime();
      const end: Partial<Ending> =
        stored.state === 'evicting' || kept
          ? { state: 'evicted', evictTime: micros(at) }
          : { state: 'deleted', deleteTime: micros(at) };
      this.#put(key, { ...stored, ...end, deleteReason: reason });
      return 'updated';
    });
  }

  deleteCollection(kind: KindDefinition, query: CollectionQuery, at: Date): Promise<CollectionResult> {
    return this.#answer('deleteCollection', () => {
      this.#passGate();
      const limit = identityLimit(query.limit ?? DEFAULT_COLLECTION);
      const found = this.#ofKind(kind).filter((one) => inCollection(kind, query, toEntry(one)));
      for (const { row } of found.slice(0, limit)) {
        this.#put(rowId(row), { ...live, row, state: 'deleted', deleteTime: micros(at) });
      }
      return { deleted: Math.min(limit, found.length), remaining: found.length > limit ? 'some' : 'none' };
    });
  }

  directUpdate(
    kind: KindDefinition,
    target: UpdateTarget,
    change: MetadataChange,
  ): Promise<{ resourceVersion: string }> {
    return this.#answer('directUpdate', () => {
      this.#passGate();
      const [key, stored] = this.#rowOf(kind, target.uid);
      const changed = changeMetadata(target, stored === undefined ? undefined : toStored(stored), change);
      if (stored !== undefined) this.#put(key, { ...stored, row: withMetadata(stored.row, changed) });
      return { resourceVersion: changed.resourceVersion };
    });
  }

  backfill(kind: KindDefinition, options: BackfillOptions = {}): Promise<BackfillProgress> {
    return this.#answer('backfill', () => {
      this.#passGate();
      const { afterUid = '', signal, onProgress } = options;
      const size = backfillLimit(options.pageSize ?? DEFAULT_BACKFILL_PAGE);
      const rest = this.#ofKind(kind)
        .filter(({ row }) => keyOf(row) > afterUid)
        .sort((left, right) => compareTexts(keyOf(left.row), keyOf(right.row)));
      let progress: BackfillProgress = { scanned: 0, changed: 0, lastUid: options.afterUid };
      while (rest.length > 0 && signal?.aborted !== true) {
        let { scanned, changed, lastUid } = progress;
        for (const stored of rest.splice(0, size)) {
          const next = backfilled(stored.row);
          this.#put(rowId(stored.row), { ...stored, row: next.row });
          scanned += 1;
          changed += Number(next.changed);
          lastUid = keyOf(stored.row);
        }
        progress = { scanned, changed, lastUid };
        onProgress?.(progress);
      }
      return progress;
    });
  }

  replace(
    row: ObjectRow,
    expectedResourceVersion: string,
    { state }: Parameters<MetadataStorage['replace']>[2],
  ): Promise<WriteOutcome> {
    return this.#answer('replace', () => {
      this.#passGate();
      const [id, stored] = this.#rowOf(row.kind, row.uid);
      if (stored?.row.resourceVersion !== expectedResourceVersion) return 'stale';
      this.#put(id, {
        row: withKey(row, keyOf(stored.row)),
        ...live,
        state,
        evictRequested: state === 'evicting',
      });
      return 'updated';
    });
  }

  /** What an adoption makes of an object that the original archived. */
  adopt(row: ObjectRow): void {
    this.#put(rowId(row), {
      row,
      ...live,
      state: 'evicting',
      evictRequested: true,
      adopted: true,
    });
  }

  /** Why a row was marked deleted, as the column `delete_reason` has it. */
  deleteReason(kind: KindDefinition, uid: string): string | undefined {
    return this.#rowOf(kind, uid)[1]?.deleteReason;
  }

  recordPosition(kind: KindDefinition, position: WatchPosition): Promise<void> {
    return this.#answer('recordPosition', () => {
      this.#passGate();
      this.#positions.record(kind.kind, position);
    });
  }

  positions(): Promise<readonly StoredPosition[]> {
    return this.#answer('positions', () => this.#positions.list());
  }

  newestChanges(): Promise<ReadonlyMap<string, string>> {
    return this.#answer('newestChanges', () => this.#positions.changes);
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    const [, found] = this.#rowOf(kind, uid);
    return this.#answer('getById', () => (found === undefined ? undefined : toStored(found)));
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#answer('getByName', () =>
      this.#named(kind, namespace, name)
        .map(toStored)
        .sort((left, right) => rank(left) - rank(right))
        .at(0),
    );
  }

  async queryByTemplateId(
    kind: KindDefinition,
    templateId: string,
    parameters: ParameterValues,
    page: TemplatePage = {},
  ): Promise<ListPage> {
    return this.list(kind, this.#templates.bind(kind, templateId, parameters, page));
  }

  identities(
    kind: KindDefinition,
    { states, uids, afterKey = '', limit }: IdentityQuery,
  ): Promise<readonly StoredIdentity[]> {
    return this.#answer('identities', () =>
      this.#ofKind(kind)
        .filter(
          ({ row, state }) => states.includes(state) && keyOf(row) > afterKey && uids?.includes(row.uid) !== false,
        )
        .sort((left, right) => compareTexts(keyOf(left.row), keyOf(right.row)))
        .slice(0, identityLimit(limit))
        .map(({ row: { uid, key, namespace, name, resourceVersion }, state, adopted }) => ({
          uid,
          ...(key === undefined ? {} : { key }),
          namespace,
          name,
          resourceVersion,
          state,
          ...(adopted === true && state === 'evicting' ? { adopted } : {}),
        })),
    );
  }

  tombstones(kind: KindDefinition, { namespace, after, limit }: TombstoneQuery): Promise<readonly Tombstone[]> {
    const beyond = ({ row }: MemoryRow): boolean =>
      after === undefined || (compareTexts(row.namespace, after.namespace) || compareTexts(row.name, after.name)) > 0;
    return this.#answer('tombstones', () =>
      this.#ofKind(kind)
        .filter((entry) => {
          const named = this.#named(kind, entry.row.namespace, entry.row.name);
          const used = named.some(({ state }) => state === 'live' || state === 'evicting');
          return !used && named.find(({ state }) => state === 'evicted') === entry;
        })
        .filter((entry) => (namespace === undefined || entry.row.namespace === namespace) && beyond(entry))
        .sort(
          ({ row: left }, { row: right }) =>
            compareTexts(left.namespace, right.namespace) || compareTexts(left.name, right.name),
        )
        .slice(0, identityLimit(limit))
        .map(({ row, evictTime = '' }) => ({
          uid: row.uid,
          namespace: row.namespace,
          name: row.name,
          resourceVersion: row.resourceVersion,
          evictTime,
        })),
    );
  }

  incarnations(kind: KindDefinition, namespace: string, name: string, limit: number): Promise<readonly Incarnation[]> {
    return this.#answer('incarnations', () =>
      this.#named(kind, namespace, name)
        .slice(0, identityLimit(limit))
        .map(toStored)
        .map(({ uid, key, resourceVersion, state, evictTime }) => {
          return { uid, ...(key === undefined ? {} : { key }), namespace, name, resourceVersion, state, evictTime };
        }),
    );
  }

  namespaces(kind: KindDefinition, limit: number): Promise<readonly string[]> {
    return this.#answer('namespaces', () => {
      const all = this.#ofKind(kind).map(({ row }) => row.namespace);
      return [...new Set(all)].sort(compareTexts).slice(0, identityLimit(limit));
    });
  }

  until(_signal: AbortSignal): this {
    return this;
  }

  changed(kind: KindDefinition, { since, after, limit }: ChangedQuery): Promise<readonly ChangedRow[]> {
    const compare = (left: ChangedRow, right: ChangedRow): number =>
      compareTexts(left.updateTime, right.updateTime) || compareTexts(left.key, right.key);
    return this.#answer('changed', () =>
      this.#ofKind(kind)
        .map(({ row, updateTime = '' }) => ({ key: keyOf(row), updateTime }))
        .filter((row) => row.updateTime >= micros(new Date(since)) && (after === undefined || compare(row, after) > 0))
        .sort(compare)
        .slice(0, limit),
    );
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    const entries = this.#ofKind(kind).map(toEntry);
    return this.#answer('list', () => listInMemory(kind, query, entries));
  }

  aggregate(kind: KindDefinition, query: AggregateQuery): Promise<Aggregate> {
    const entries = this.#ofKind(kind).map(toEntry);
    return this.#answer('aggregate', () => aggregateInMemory(kind, query, entries));
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

  #ofKind(kind: KindDefinition): MemoryRow[] {
    return [...this.#rows.values()].filter(({ row }) => row.kind === kind);
  }

  /** All incarnations of a name, created last first. */
  #named(kind: KindDefinition, namespace: string, name: string): MemoryRow[] {
    return this.#ofKind(kind)
      .filter(({ row }) => row.namespace === namespace && row.name === name)
      .sort(
        ({ row: left }, { row: right }) =>
          compareTexts(right.createTime, left.createTime) || compareTexts(keyOf(right), keyOf(left)),
      );
  }

  #passGate(): void {
    if (this.#gateHolder !== undefined) throw new GateClosedError(this.#gateHolder);
  }

  /** The entry that the object has, or would have under its uid. */
  #rowOf(kind: KindDefinition, uid: string): readonly [id: string, stored: MemoryRow | undefined] {
    const underUid = `${kind.table}/${uid}`;
    const ids = [underUid, this.#otherIds.get(underUid) ?? underUid];
    const id = ids.find((one) => this.#rows.get(one)?.row.uid === uid) ?? underUid;
    const stored = this.#rows.get(id);
    return [id, stored?.row.uid === uid ? stored : undefined];
  }

  /** The key that a new object may have; undefined where a later object has it. */
  #keyFor(row: ObjectRow): string | undefined {
    const holder = this.#rows.get(rowId(row));
    if (holder === undefined) return keyOf(row);
    const sameName = holder.row.namespace === row.namespace && holder.row.name === row.name;
    const newer = compareTexts(row.createTime, holder.row.createTime) || compareVersions(row, holder.row);
    if (sameName && newer <= 0) return undefined;
    if (sameName && (holder.state === 'live' || holder.state === 'deleted')) return keyOf(row);
    const underUid = `${row.kind.table}/${row.uid}`;
    const squatter = this.#rows.get(underUid);
    this.#rows.delete(underUid);
    if (squatter !== undefined) {
      const moved = withKey(squatter.row, squatter.row.uid);
      this.#put(rowId(moved), { ...squatter, row: moved });
    }
    return row.uid;
  }

  #write(call: string, given: ObjectRow, end: (stored: MemoryRow | undefined) => Ending): Promise<WriteOutcome> {
    return this.#answer(call, () => {
      this.#passGate();
      const [key, stored] = this.#rowOf(given.kind, given.uid);
      if (stored === undefined) {
        const newKey = this.#keyFor(given);
        if (newKey === undefined) return 'stale';
        const row = withKey(given, newKey);
        if (row.key !== undefined) this.#otherIds.set(key, rowId(row));
        this.#put(rowId(row), { row, ...end(undefined) });
        return 'inserted';
      }
      const row = withKey(given, keyOf(stored.row));
      const next = { row, ...end(stored) };
      const newer = compareVersions(row, stored.row);
      const movesOn = rowStates.indexOf(next.state) > rowStates.indexOf(stored.state);
      if (newer < 0) return 'stale';
      if (newer === 0 && !movesOn) return 'unchanged';
      this.#put(key, next);
      return 'updated';
    });
  }

  #put(id: string, row: MemoryRow): void {
    this.#rows.set(id, { ...row, updateTime: this.now === undefined ? '' : micros(this.now()) });
  }

  #answer<T>(call: string, work: () => T): Promise<T> {
    this.calls.push(call);
    if (this.down) return Promise.reject(new StorageUnavailableError('ECONNREFUSED', undefined));
    return new Promise((resolve) => resolve(work()));
  }
}

function keyOf({ key, uid }: ObjectRow): string {
  return key ?? uid;
}

function rowId(row: ObjectRow): string {
  return `${row.kind.table}/${keyOf(row)}`;
}

function withKey({ key: _, ...row }: ObjectRow, key: string): ObjectRow {
  return key === row.uid ? row : { ...row, key };
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
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
