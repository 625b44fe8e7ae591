// Many concurrent writes share a transaction. A few lanes, each with a connection while it works, take what has
// gathered: while one transaction waits for the disk, the writes of the next one come together by themselves.
//
// A batch that fails as a whole is written again: after a deadlock, a lock timeout or a lost connection, with jitter,
// for a short time. That also covers the commit whose answer was lost, because a write that is already there is
// `unchanged`. A batch that fails because of its content is cut in halves until the one row that the server refuses is
// alone; only its caller sees the error. A batch that waits for rows which a foreign transaction keeps locked goes on
// without them, and so does one with rows of a shard that is away.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { backoffMs } from '../../../base/backoff.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import {
  GateClosedError,
  GateMovedError,
  RowRefusedError,
  RowsHeldError,
  ShardUnavailableError,
  StorageContentionError,
  StorageFailureError,
  StorageProgramError,
  StorageUnavailableError,
} from '../../errors.ts';
import type { WriteOutcome } from '../../metadata-storage.ts';
import type { PendingWrite } from './pending-write.ts';
import { isOnShard, type ShardsAway } from './shards-away.ts';
import { type BatchLimits, type Entry, WriteQueue } from './write-queue.ts';

export interface GroupCommitOptions {
  /** Writes all or nothing, and says what became of each. */
  readonly commit: (writes: readonly PendingWrite[]) => Promise<readonly WriteOutcome[]>;
  /** Transactions at the same time. */
  readonly lanes: number;
  readonly batch: BatchLimits;
  /** How long a write waits for company while other transactions are under way. */
  readonly lingerMs: number;
  /**
   * Between the starts of transactions that are not full. A write after a pause starts at once; a steady trickle shares
   * transactions, which cost both sides more than the writes in them.
   */
  readonly spacingMs: number;
  /** Bytes of writes that are queued or under way; callers beyond it wait. */
  readonly queueBytes: number;
  readonly clock: Clock;
  /** Told of those that fail; the transaction tells of those that answer. */
  readonly shards: ShardsAway;
}

const RESOLVED_AT_ONCE = 16;
const TRIES = 6;
/** A failure later than this after the first try is final: a hung server must not be waited for twice. */
const RETRY_BUDGET_MS = 3000;
/** A caller that writes again this soon after everything was settled is alone: its writes need not wait for others. */
const ONE_BY_ONE_MS = 2;
const retryBackoff = { baseMs: 10, capMs: 400, jitter: 1 };
/** Labels, annotations and owner references: from here on a write takes longer than a full batch of ordinary objects. */
const HEAVY_PAIRS = 1000;
/** How long a write of a row that a foreign transaction had locked goes apart. */
const HELD_MS = 60_000;
/** Rows that are known to be locked; the oldest are forgotten first. */
const HELD_ROWS = 10_000;

type WriteEntry = Entry<PendingWrite, WriteOutcome>;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #queue: WriteQueue<PendingWrite, WriteOutcome>;
  readonly #closed = new AbortController();
  readonly #idle: (() => void)[] = [];
  /** Until when, by key, of rows that were locked when they were last written. */
  readonly #held = new Map<string, number>();
  #busyLanes = 0;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #idleSinceMs = Number.NEGATIVE_INFINITY;
  #scheduled: (() => void) | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#queue = new WriteQueue(options.queueBytes);
  }

  /** Bytes of writes that are queued or under way. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  submit(write: PendingWrite): Promise<WriteOutcome> {
    if (this.#closed.signal.aborted)
      return Promise.reject(new StorageUnavailableError('it is being closed', undefined));
    const away = this.#options.shards.of(rowsOf(write));
    if (away instanceof ShardUnavailableError) return Promise.reject(away);
    return new Promise((resolve, reject) => {
      const key = keyOf(write);
      const apart = away !== undefined || this.#goesApart(key, write);
      this.#queue.add({ key, bytes: write.bytes, apart, write, resolve, reject });
      this.#schedule();
    });
  }

  /** Takes no more writes, and resolves when those it took are settled. Retries are cut short. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#startLanes();
    if (this.#busyLanes === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Starts lanes now if a batch is full, else after the wait, else (when there is none) after this tick. */
  #schedule(): void {
    const { lanes, clock } = this.#options;
    if (this.#busyLanes >= lanes || this.#queue.readyRows === 0) return;
    if (this.#isFull()) {
      this.#startLanes();
      return;
    }
    if (this.#scheduled !== undefined) return;
    const start = (): void => {
      this.#scheduled = undefined;
      this.#startLanes();
    };
    const waitMs = this.#waitMs();
    if (waitMs > 0) {
      this.#scheduled = clock.schedule(waitMs, start);
      return;
    }
    const immediate = setImmediate(start);
    this.#scheduled = () => clearImmediate(immediate);
  }

  #waitMs(): number {
    const { lingerMs, spacingMs, clock } = this.#options;
    const now = clock.monotonicMs();
    const spacing = this.#lastStartMs + spacingMs - now;
    if (this.#busyLanes > 0) return Math.max(spacing, lingerMs);
    return now - this.#idleSinceMs < ONE_BY_ONE_MS ? 0 : spacing;
  }

  #isFull(): boolean {
    const { maxRows, maxBytes } = this.#options.batch;
    return this.#queue.readyRows >= maxRows || this.#queue.readyBytes >= maxBytes;
  }

  #startLanes(): void {
    this.#scheduled?.();
    this.#scheduled = undefined;
    const { lanes, batch, clock } = this.#options;
    while (this.#busyLanes < lanes && this.#queue.readyRows > 0) {
      this.#busyLanes += 1;
      this.#lastStartMs = clock.monotonicMs();
      void this.#runLane(this.#queue.take(batch));
    }
  }

  async #runLane(entries: readonly WriteEntry[]): Promise<void> {
    await this.#commit(entries);
    this.#busyLanes -= 1;
    if (this.#closed.signal.aborted) this.#startLanes();
    else this.#schedule();
    if (this.#busyLanes > 0) return;
    this.#idleSinceMs = this.#options.clock.monotonicMs();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #commit(entries: readonly WriteEntry[]): Promise<void> {
    try {
      const outcomes = await this.#commitWithRetries(entries.map(({ write }) => write));
      await this.#resolve(entries, outcomes);
    } catch (error) {
      const { failed, again } = this.#split(entries, error);
      for (const entry of failed) {
        this.#queue.settle(entry);
        entry.reject(error);
      }
      for (const part of again) await this.#commit(part);
    }
  }

  #split(entries: readonly WriteEntry[], error: unknown): Parts {
    if (error instanceof RowsHeldError) return this.#withoutHeld(entries, error);
    if (error instanceof ShardUnavailableError) return this.#withoutAway(entries, error);
    return split(entries, error);
  }

  #withoutAway(entries: readonly WriteEntry[], error: ShardUnavailableError): Parts {
    if (error.uids.size === 0) this.#options.shards.failed(error);
    const waiting = entries.filter(({ write }) => waitsFor(write, error));
    const others = entries.filter(({ write }) => !waitsFor(write, error));
    return waiting.length === 0
      ? { failed: entries, again: [] }
      : { failed: waiting, again: others.length === 0 ? [] : [others] };
  }

  #goesApart(key: string, { labels, annotations }: PendingWrite): boolean {
    if (labels.pairs.length + annotations.pairs.length >= HEAVY_PAIRS) return true;
    const until = this.#held.get(key);
    if (until !== undefined && until <= this.#options.clock.monotonicMs()) this.#held.delete(key);
    return this.#held.has(key);
  }

  /** Those whose rows are locked have waited for long enough; the others go on. */
  #withoutHeld(entries: readonly WriteEntry[], { uids }: RowsHeldError): Parts {
    const held = entries.filter(({ write }) => uids.has(write.row.uid));
    const free = entries.filter(({ write }) => !uids.has(write.row.uid));
    const until = this.#options.clock.monotonicMs() + HELD_MS;
    for (const { key } of held) this.#held.set(key, until);
    for (const key of this.#held.keys()) {
      if (this.#held.size <= HELD_ROWS) break;
      this.#held.delete(key);
    }
    return held.length === 0
      ? { failed: entries, again: [] }
      : { failed: held, again: free.length === 0 ? [] : [free] };
  }

  /**
   * A few at a time: a caller that gets its result goes on with its next object at once. Were all told in one tick, the
   * other lanes would not get the answers to their statements meanwhile, and the server would have nothing to do.
   */
  async #resolve(entries: readonly WriteEntry[], outcomes: readonly WriteOutcome[]): Promise<void> {
    for (const [index, entry] of entries.entries()) {
      if (index > 0 && index % RESOLVED_AT_ONCE === 0) await yieldToEventLoop();
      this.#queue.settle(entry);
      this.#held.delete(entry.key);
      entry.resolve(outcomes[index] ?? 'stale');
    }
  }

  async #commitWithRetries(writes: readonly PendingWrite[]): Promise<readonly WriteOutcome[]> {
    const { clock, commit } = this.#options;
    const started = clock.monotonicMs();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await commit(writes);
      } catch (error) {
        const inTime = clock.monotonicMs() - started < RETRY_BUDGET_MS && !this.#closed.signal.aborted;
        if (!passing(error, writes) || attempt === TRIES || !inTime) throw error;
        await sleep(clock, backoffMs(retryBackoff, attempt), this.#closed.signal);
      }
    }
  }
}

function keyOf({ row: { kind, key, uid } }: PendingWrite): string {
  return `${kind.table}/${key ?? uid}`;
}

function waitsFor(write: PendingWrite, { shard, uids }: ShardUnavailableError): boolean {
  return uids.has(write.row.uid) || rowsOf(write).some((uid) => isOnShard(shard, uid));
}

/** The keys of the rows that the object may have. */
function rowsOf({ row: { key, uid } }: PendingWrite): readonly string[] {
  return key === undefined ? [uid] : [uid, key];
}

/**
 * Whether the same transaction may succeed a moment later. Rows that are locked were waited for already, and rows of other
 * shards do not wait for the one that is away.
 */
function passing(error: unknown, writes: readonly PendingWrite[]): boolean {
  if (error instanceof RowsHeldError) return false;
  if (error instanceof ShardUnavailableError)
    return error.uids.size === 0 && writes.every((write) => waitsFor(write, error));
  return error instanceof StorageContentionError || error instanceof StorageUnavailableError;
}

/** What to tell the error, and what to try again. */
interface Parts {
  readonly failed: readonly WriteEntry[];
  readonly again: readonly (readonly WriteEntry[])[];
}

/**
 * The parts of a batch to try apart, none if that is of no use. Kinds first: a table that is missing, or locked by an ALTER,
 * concerns all objects of its kind and no other.
 */
function split(entries: readonly WriteEntry[], error: unknown): Parts {
  const whole = { failed: entries, again: [] };
  const concernsAll = [StorageUnavailableError, GateClosedError, GateMovedError].some((each) => error instanceof each);
  if (concernsAll) return whole;
  const kinds = [...Map.groupBy(entries, ({ write }) => write.row.kind).values()];
  if (kinds.length > 1) return { failed: [], again: kinds };
  const causedByRow = [RowRefusedError, StorageFailureError, StorageProgramError].some((each) => error instanceof each);
  if (!causedByRow || entries.length < 2) return whole;
  const middle = Math.ceil(entries.length / 2);
  return { failed: [], again: [entries.slice(0, middle), entries.slice(middle)] };
}
