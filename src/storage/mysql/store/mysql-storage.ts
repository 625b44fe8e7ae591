import type { KindDefinition } from '../../../api/kind.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { Tracer } from '../../../base/tracing.ts';
import type { Watchdog } from '../../../base/watchdog.ts';
import type { Aggregate, AggregateQuery } from '../../aggregate.ts';
import {
  type BackfillOptions,
  type BackfillProgress,
  type CollectionQuery,
  type CollectionResult,
  DEFAULT_BACKFILL_PAGE,
  DEFAULT_BACKFILL_PAUSE_MS,
  type MetadataChange,
  type UpdateTarget,
} from '../../bulk.ts';
import { GateMovedError, StorageSchemaMissingError } from '../../errors.ts';
import type { ListQuery } from '../../list-query.ts';
import type {
  ChangeReads,
  IdentityQuery,
  Incarnation,
  ListPage,
  MetadataStorage,
  MissedDelete,
  StorageReads,
  StoredIdentity,
  StoredObject,
  StoredPosition,
  Tombstone,
  TombstoneQuery,
  WatchPosition,
  WriteOutcome,
} from '../../metadata-storage.ts';
import { backfillLimit } from '../../page-limit.ts';
import { type ParameterValues, QueryTemplates, type TemplatePage } from '../../query-templates.ts';
import type { ObjectRow } from '../../row.ts';
import { CLUSTERS_TABLE, OwnCluster, refuseOther } from '../clusters.ts';
import { Calls } from '../deadline.ts';
import { type Closing, checkReadable, closeGate, openGate, passGate, passing, waitUntilClosed } from '../gate.ts';
import { type MysqlOptions, MysqlPool, READ_TIMEOUT_MS, type SqlSession } from '../pool.ts';
import { MysqlReads } from '../read/mysql-reads.ts';
import { writePosition } from '../read/positions.ts';
import { IS_OF, keyOf } from '../read/row-keys.ts';
import { presentTables } from '../schema/present-tables.ts';
import { TableNaming } from '../schema/table-naming.ts';
import { SYSTEM_TABLES, tablesOf } from '../schema/tables.ts';
import { readServerHistory, type ServerHistory } from '../server-history.ts';
import { refuseOldServer } from '../server-version.ts';
import { backfillPage } from './backfill.ts';
import { type BatchOptions, writeBatch } from './batch-writer.ts';
import { CommitTimes } from './commit-times.ts';
import { tracedCommit, withOrigin } from './commit-traces.ts';
import { deleteCollection } from './delete-collection.ts';
import { updateMetadata } from './direct-update.ts';
import { GroupCommit } from './group-commit.ts';
import { markMissedDelete } from './missed-delete.ts';
import { type Ending, type PendingWrite, pendingWrite } from './pending-write.ts';
import { removeRow } from './placement.ts';
import { ShardsAway } from './shards-away.ts';

/** Measured: more lanes than this make the transactions smaller without making them faster. */
const LANES = 3;
const BATCH = { maxRows: 128, maxBytes: 4 * 1024 * 1024 };
const LINGER_MS = 2;
const SPACING_MS = 20;
const QUEUE_BYTES = 64 * 1024 * 1024;
/** No closing: that of a gate that was closed after this storage was made and before it had looked. */
const CLOSED_MEANWHILE = 'closed meanwhile';
/** How long closing waits for the writes that were taken. */
const SETTLING_MS = 10_000;

export interface StorageObservers {
  /** Told of each row that was written with columns that cannot hold what the object has. */
  readonly onUnfit?: (kind: KindDefinition, columns: readonly string[]) => void;
  /** Told of each new row that could not have the key it was to have, and has the uid of its object instead. */
  readonly onKeyTaken?: (row: ObjectRow, key: string) => void;
  /**
   * Told when the gate was found to have been closed since it was last looked at, or since this storage was made. Rows may
   * have been set back meanwhile, so what was read of an object before is not to be written.
   */
  readonly onGateClosed?: () => void;
  /** Told at each check since when the cluster has the database, RFC 3339, as long as it remembers none. */
  readonly onUnnoted?: (since: string) => void;
  /** Told where a check finds another database than the one before: what was stored there says nothing about this one. */
  readonly onChanged?: () => void;
  /** Told of each transaction of writes, also of those that are tried again. */
  readonly onCommit?: (commit: {
    readonly outcome: 'committed' | 'failed';
    readonly rows: number;
    readonly seconds: number;
  }) => void;
  /** Knows of each write from when it is asked for until it has ended. */
  readonly watchdog?: Pick<Watchdog, 'around'>;
  /** Missing: no transaction leaves a trace. */
  readonly tracer?: Tracer | undefined;
}

/** The name of every write for the watchdog. */
export const WRITE_WORK = 'write';
/** A statement is given up after the read timeout, and then tried again, so a write that takes longer than this is stuck. */
const STUCK_READ_TIMEOUTS = 1.5;

/** Group commit: the main row, labels and annotations of an object change together or not at all. */
export class MysqlMetadataStorage implements MetadataStorage {
  readonly #pool: MysqlPool;
  readonly #naming = new TableNaming();
  readonly #reads: MysqlReads;
  readonly #clock: Clock;
  readonly #templates: QueryTemplates;
  readonly #observers: StorageObservers;
  readonly #commits: GroupCommit;
  readonly #shards: ShardsAway;
  readonly #gateHolder: string | undefined;
  readonly #own: OwnCluster;
  readonly #madeMs: number;
  #gateState: string | undefined;
  /** Asked when a row is locked: what its change is dated by. */
  readonly #now: () => string;
  /** The last closing of the gate that is known. */
  #closing: string | undefined;
  /** What stands for it in writes that were asked for before one was known. */
  #firstClosing: string | undefined;
  readonly #stuckMs: number;
  /** Since when the cluster had the database at the last check; undefined where it had none. */
  #since: string | undefined;

  constructor(
    options: MysqlOptions,
    clock: Clock,
    templates: QueryTemplates = new QueryTemplates([]),
    observers: StorageObservers = {},
  ) {
    this.#templates = templates;
    this.#observers = observers;
    this.#stuckMs = (options.readTimeoutMs ?? READ_TIMEOUT_MS) * STUCK_READ_TIMEOUTS;
    this.#gateHolder = options.gateHolder;
    this.#own = new OwnCluster(options, clock);
    this.#pool = new MysqlPool(options, clock);
    this.#reads = new MysqlReads(this.#pool, this.#naming, this.#own);
    this.#clock = clock;
    this.#madeMs = clock.monotonicMs();
    this.#shards = new ShardsAway(clock);
    const times = new CommitTimes(clock);
    this.#now = times.now;
    this.#commits = new GroupCommit({
      commit: (writes) =>
        times.around(writes, (at) =>
          tracedCommit(observers.tracer, writes, () =>
            this.#observed(writes.length, () =>
              this.#gated(
                (session) => this.#writeBatch(session, writes, at),
                () => this.#refuseOld(writes),
              ),
            ),
          ),
        ),
      lanes: Math.max(1, Math.min(LANES, options.maxOpenConns - 1)),
      batch: BATCH,
      lingerMs: LINGER_MS,
      spacingMs: SPACING_MS,
      queueBytes: QUEUE_BYTES,
      clock,
      shards: this.#shards,
    });
  }

  /** Connections in use or waited for, and how many there may be. */
  get connections(): { readonly used: number; readonly most: number } {
    return { used: this.#pool.used, most: this.#pool.most };
  }

  async #observed<T>(rows: number, commit: () => Promise<T>): Promise<T> {
    const started = this.#clock.monotonicMs();
    const told = (outcome: 'committed' | 'failed'): void =>
      this.#observers.onCommit?.({ outcome, rows, seconds: (this.#clock.monotonicMs() - started) / 1000 });
    try {
      const result = await commit();
      told('committed');
      return result;
    } catch (error) {
      told('failed');
      throw error;
    }
  }

  get gateClosing(): string | undefined {
    return this.#closing;
  }

  /** Another one each time that the gate was found closed or opened; undefined before it was looked at. */
  get gateState(): string | undefined {
    return this.#gateState;
  }

  upsert(row: ObjectRow): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'live' });
  }

  requestEviction(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'evicting', evictRequestTime: at });
  }

  delete(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'write', state: 'deleted', deleteTime: at });
  }

  finish(row: ObjectRow, at: Date): Promise<WriteOutcome> {
    return this.#write(row, { statement: 'finish', state: 'deleted', deleteTime: at });
  }

  markMissedDelete(kind: KindDefinition, object: MissedDelete, at: Date, reason: string): Promise<WriteOutcome> {
    const ended = { at, now: this.#now, reason };
    return this.#gatedOf(kind, (session, named) => markMissedDelete(session, named, object, ended));
  }

  async deleteCollection(
    kind: KindDefinition,
    query: CollectionQuery,
    at: Date,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<CollectionResult> {
    const named = await this.#pool.read((session) => this.#naming.of(session, kind), signal);
    const sessions = {
      read: <T>(work: (session: SqlSession) => Promise<T>) => this.#pool.read(work, signal),
      write: <T>(work: (session: SqlSession) => Promise<T>) => this.#gated(work),
      now: this.#now,
      signal,
    };
    return deleteCollection(sessions, named, query, at);
  }

  async directUpdate(
    kind: KindDefinition,
    target: UpdateTarget,
    change: MetadataChange,
  ): Promise<{ resourceVersion: string }> {
    const update = { target, change, now: this.#now };
    return { resourceVersion: await this.#gatedOf(kind, (session, named) => updateMetadata(session, named, update)) };
  }

  async backfill(kind: KindDefinition, options: BackfillOptions = {}): Promise<BackfillProgress> {
    const size = backfillLimit(options.pageSize ?? DEFAULT_BACKFILL_PAGE);
    const signal = options.signal ?? new AbortController().signal;
    let progress: BackfillProgress = { scanned: 0, changed: 0, lastUid: options.afterUid };
    while (!signal.aborted) {
      const page = await this.#gatedOf(kind, (session, named) =>
        backfillPage(session, named, progress.lastUid ?? '', size),
      );
      if (page.lastUid === undefined) break;
      progress = {
        scanned: progress.scanned + page.scanned,
        changed: progress.changed + page.changed,
        lastUid: page.lastUid,
      };
      options.onProgress?.(progress);
      await sleep(this.#clock, options.pauseMs ?? DEFAULT_BACKFILL_PAUSE_MS, signal);
    }
    return progress;
  }

  replace(
    row: ObjectRow,
    expectedResourceVersion: string,
    as: Parameters<MetadataStorage['replace']>[2],
  ): Promise<WriteOutcome> {
    const ending: Ending =
      as.state === 'live'
        ? { statement: 'write', state: 'live' }
        : { statement: 'write', state: 'evicting', evictRequestTime: as.at };
    const write = pendingWrite(row, ending);
    return this.#gatedOf(row.kind, (session, named) =>
      replaceRow(session, { ...write, row: { ...row, kind: named } }, expectedResourceVersion, this.#now),
    );
  }

  recordPosition(kind: KindDefinition, position: WatchPosition): Promise<void> {
    return this.#gated((session) => writePosition(session, kind, position));
  }

  positions(): Promise<readonly StoredPosition[]> {
    return this.#reads.positions();
  }

  newestChanges(): Promise<ReadonlyMap<string, string>> {
    return this.#reads.newestChanges();
  }

  getById(kind: KindDefinition, uid: string): Promise<StoredObject | undefined> {
    return this.#reads.getById(kind, uid);
  }

  getByName(kind: KindDefinition, namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.#reads.getByName(kind, namespace, name);
  }

  list(kind: KindDefinition, query: ListQuery): Promise<ListPage> {
    return this.#reads.list(kind, query);
  }

  async queryByTemplateId(
    kind: KindDefinition,
    templateId: string,
    parameters: ParameterValues,
    page: TemplatePage = {},
  ): Promise<ListPage> {
    return this.list(kind, this.#templates.bind(kind, templateId, parameters, page));
  }

  aggregate(kind: KindDefinition, query: AggregateQuery): Promise<Aggregate> {
    return this.#reads.aggregate(kind, query);
  }

  identities(kind: KindDefinition, query: IdentityQuery): Promise<readonly StoredIdentity[]> {
    return this.#reads.identities(kind, query);
  }

  tombstones(kind: KindDefinition, query: TombstoneQuery): Promise<readonly Tombstone[]> {
    return this.#reads.tombstones(kind, query);
  }

  incarnations(kind: KindDefinition, namespace: string, name: string, limit: number): Promise<readonly Incarnation[]> {
    return this.#reads.incarnations(kind, namespace, name, limit);
  }

  namespaces(kind: KindDefinition, limit: number): Promise<readonly string[]> {
    return this.#reads.namespaces(kind, limit);
  }

  until(signal: AbortSignal): StorageReads & ChangeReads {
    return new MysqlReads(this.#pool, this.#naming, this.#own, signal);
  }

  async closeGate(holder: string, reason: string): Promise<void> {
    await this.#pool.transaction((session) => closeGate(session, holder, reason));
    await waitUntilClosed(this.#pool, this.#clock);
  }

  openGate(holder: string): Promise<void> {
    return this.#pool.transaction((session) => openGate(session, holder));
  }

  async check(kinds: readonly KindDefinition[]): Promise<void> {
    await this.#pool.read(refuseOldServer);
    const missing = await this.#pool.read((session) => this.#missingTables(session, kinds));
    if (missing.length > 0) {
      const more = missing.length > 3 ? ', ...' : '';
      throw new StorageSchemaMissingError(
        `${missing.length} tables are missing (${missing.slice(0, 3).join(', ')}${more})`,
      );
    }
    await this.#pool.read((session) => this.#askAllShards(session, kinds));
    this.#noteClosing(await this.#pool.read(checkReadable));
    const cluster = await this.#own.identity();
    if (cluster === undefined) return;
    const since = await this.#pool.read((session) => refuseOther(session, cluster));
    if (since !== undefined && cluster.database === undefined) this.#observers.onUnnoted?.(since);
    if (this.#since !== undefined && this.#since !== since) this.#observers.onChanged?.();
    this.#since = since;
  }

  /** GTIDs of the newest transactions that were confirmed since the last call; empty where the server does not say. */
  takeCommitted(): string {
    return this.#pool.committed.take();
  }

  /** What the server knows, and which of these GTIDs it does not; undefined where it has none. */
  serverHistory(seen: string): Promise<ServerHistory> {
    return this.#pool.read((session) => readServerHistory(session, seen));
  }

  /** Bytes of writes that are queued or under way, at most 64 MiB; writes beyond that wait. */
  get queuedBytes(): number {
    return this.#commits.queuedBytes;
  }

  /** Writes that were taken are settled first, for a while; then what a silent server still holds is broken off. */
  async close(): Promise<void> {
    const settled = this.#commits.close();
    await new Calls().answered(settled, SETTLING_MS, () => undefined).catch(() => undefined);
    await this.#pool.close();
    await settled;
  }

  async #missingTables(session: SqlSession, kinds: readonly KindDefinition[]): Promise<readonly string[]> {
    const beside = [...SYSTEM_TABLES, CLUSTERS_TABLE];
    const present = await presentTables(session, beside);
    const hasGate = present.has('ingester_gate');
    if (hasGate) await this.#naming.renew(session);
    const named = hasGate ? await this.#named(session, kinds) : kinds;
    const wanted = [...named.flatMap(tablesOf), ...beside];
    return wanted.filter((table) => !present.has(table));
  }

  async #askAllShards(session: SqlSession, kinds: readonly KindDefinition[]): Promise<void> {
    const [kind] = await this.#named(session, kinds);
    if (session.dialect.catalogue === 'partial' && kind !== undefined) await this.#shards.ask(session, kind.table);
  }

  /** One transaction, which writes nothing while the gate is closed. `onPassed` may still refuse it. */
  #gated<T>(work: (session: SqlSession) => Promise<T>, onPassed: () => void = () => undefined): Promise<T> {
    return this.#watched(async () => {
      const onClosing = (closing: Closing): void => this.#noteClosing(closing);
      const pass = { lent: this.#gateHolder, cluster: await this.#own.identity(), onClosing };
      // Inside a transaction the question would be one to the server of the gate, and come before the locks.
      if (!this.#naming.isKnown) await this.#pool.read((session) => this.#naming.renew(session));
      return this.#pool.transaction((session) => {
        const passed = async (): Promise<void> => {
          await passGate(session, pass);
          onPassed();
        };
        return passing(session, passed, work);
      });
    });
  }

  #gatedOf<T>(kind: KindDefinition, work: (session: SqlSession, named: KindDefinition) => Promise<T>): Promise<T> {
    return this.#gated(async (session) => work(session, await this.#naming.of(session, kind)));
  }

  #named(session: SqlSession, kinds: readonly KindDefinition[]): Promise<readonly KindDefinition[]> {
    return Promise.all(kinds.map((kind) => this.#naming.of(session, kind)));
  }

  async #write(row: ObjectRow, ending: Ending): Promise<WriteOutcome> {
    const write = withOrigin(this.#observers.tracer, pendingWrite(row, ending, row.gateClosing ?? this.#closing));
    const outcome = await this.#watched(() => this.#commits.submit(write));
    if (row.unfit !== undefined && (outcome === 'inserted' || outcome === 'updated'))
      this.#observers.onUnfit?.(row.kind, row.unfit);
    return outcome;
  }

  #noteClosing({ at, ageMs, holder = '' }: Closing): void {
    this.#gateState = `${at} ${holder}`;
    this.#firstClosing ??= ageMs > this.#clock.monotonicMs() - this.#madeMs ? at : CLOSED_MEANWHILE;
    const known = this.#closing ?? this.#firstClosing;
    this.#closing = at;
    if (known !== at) this.#observers.onGateClosed?.();
  }

  /** Called after the gate was passed. */
  #refuseOld(writes: readonly PendingWrite[]): void {
    const isOld = ({ closing = this.#firstClosing }: PendingWrite): boolean => closing !== this.#closing;
    if (this.#gateHolder === undefined && writes.some(isOld)) throw new GateMovedError();
  }

  #writeBatch(
    session: SqlSession,
    writes: readonly PendingWrite[],
    times: Pick<BatchOptions, 'now' | 'isRepeated'>,
  ): Promise<readonly WriteOutcome[]> {
    const onTaken = ({ row }: PendingWrite, key: string): void => this.#observers.onKeyTaken?.(row, key);
    return writeBatch(session, writes, { naming: this.#naming, onTaken, shards: this.#shards, ...times });
  }

  #watched<T>(write: () => Promise<T>): Promise<T> {
    return this.#observers.watchdog?.around(WRITE_WORK, this.#stuckMs, write) ?? write();
  }
}

// The one write that the version check does not hold back: for a row that is damaged, or newer than the cluster that it
// is a copy of.
/** Takes the row out and writes it anew, if it still is the row that the repair was decided on. */
export async function replaceRow(
  session: SqlSession,
  write: PendingWrite,
  expected: string,
  now: () => string,
): Promise<WriteOutcome> {
  const { kind, uid } = write.row;
  const key = await keyOf(session, kind, uid);
  const [stored] = await session.query(
    `SELECT CAST(\`res_version\` AS CHAR) FROM \`${kind.table}\` WHERE ${IS_OF} FOR UPDATE`,
    [key, uid],
  );
  if (stored === undefined || String(stored[0]) !== expected) return 'stale';
  await removeRow(session, kind, key);
  await writeBatch(session, [{ ...write, row: { ...write.row, key } }], { now });
  return 'updated';
}
