// What changed in a kind lately, in the order in which this process found it. One log serves all watches of a kind: it reads
// while there are any, and each goes through it at its own pace.
//
// A row has the time at which it was locked, and is seen when its transaction is committed. So each reading looks back for as long as
// that may take, and passes over what it has found before. Nothing is missed; some changes may come twice.
import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, repeat, sleep } from '../../base/clock.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import { StorageUnavailableError } from '../../storage/errors.ts';
import { MOST_VALUES } from '../../storage/list-query.ts';
import type { ChangedRow, ChangeReads, StorageReads, StoredObject } from '../../storage/metadata-storage.ts';
import { SETTLE_MS } from '../changes.ts';
import { type QueryError, queryErrorOf } from '../errors.ts';
import { pageBounds } from '../list-query.ts';
import { type Moment, momentAt, momentOf, timeOf } from './moments.ts';

export interface Change {
  readonly stored: StoredObject;
  readonly at: Moment;
  /** When it was found: whatever was read long after that has it. */
  readonly foundAt: Moment;
  /** The object was created since the log was begun, and was not in it before. */
  readonly isNew: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** What it looks like to clients, by their shape; kept until the next reading. */
  readonly shown: Map<string, string>;
  /** A later change of the object is in the log. */
  isSuperseded: boolean;
}

export interface ChangeLogOptions {
  readonly kind: KindDefinition;
  readonly storage: {
    until(signal: AbortSignal): ChangeReads & Pick<StorageReads, 'list'>;
    readonly gateState?: string | undefined;
  };
  readonly clock: Clock;
  /** Of the json of all changes together; the oldest go first. */
  readonly mostBytes: () => number;
}

const PERIOD_MS = 200;
/** Watches look around so often, also while nothing is read. */
const LOOK_MS = 1000;
/** A watch ends where nothing was read for so long: silence must not look like rest. */
const SILENT_MS = 5000;
/** A reading that takes long is followed by a rest in proportion. */
const REST_FACTOR = 2;
const PAGE_KEYS = 5000;
/** Their keys are asked for by name. */
const PAGE_OBJECTS = MOST_VALUES;
/** How far back a log that begins can go. */
const MOST_BACK_MS = 60_000;
/** Of one reading; with more there is no keeping up, and watches begin anew. */
const MOST_CHANGES = 50_000;
const byUpdateTime = { field: 'metadata.updateTimestamp', direction: 'ascending' } as const;
const LOOK_BACK: Moment = SETTLE_MS * 1000;
/** Creation times have whole seconds. */
const SECOND: Moment = 1_000_000;
/** As far may the clocks of two replicas be apart. */
const CLOCKS_APART: Moment = 2_000_000;

export class ChangeLog {
  readonly #options: ChangeLogOptions;
  #changes: Change[] = [];
  /** Number of the first change that is there; they are counted from the beginning. */
  #first = 0;
  #bytes = 0;
  /** The time of each row's last change that was found, as long as readings look back to it. */
  readonly #found = new Map<string, string>();
  /** The last change of each row that is in the log. */
  readonly #last = new Map<string, Change>();
  /** Changes that are dated before this moment may be missing. */
  #complete: Moment;
  /** When the last change was found that is gone. */
  #dropped: Moment = 0;
  readonly #begun: Moment;
  /** When the last reading that succeeded began. */
  #read: Moment;
  #waiters: PromiseWithResolvers<undefined>[] = [];
  #readingSinceMs: number | undefined;
  #failedSinceMs: number | undefined;
  #failure: QueryError | undefined;
  #gateState: string | undefined;

  /** `from`: the moment from which on it is to be complete, as far as that is possible. */
  constructor(options: ChangeLogOptions, from: Moment) {
    this.#options = options;
    const now = momentOf(options.clock.now());
    this.#begun = now;
    this.#complete = Math.max(from - LOOK_BACK, now - MOST_BACK_MS * 1000);
    this.#read = this.#complete + LOOK_BACK;
    this.#gateState = options.storage.gateState;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const looking = repeat({ clock, periodMs: LOOK_MS, signal }, () => {
      this.#wake();
      return undefined;
    });
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      this.#readingSinceMs = startedMs;
      try {
        await this.#readOn(signal);
        this.#failedSinceMs = undefined;
        this.#failure = undefined;
      } catch (error) {
        this.#failure = queryErrorOf(error);
        this.#failedSinceMs ??= startedMs;
      }
      this.#readingSinceMs = undefined;
      this.#wake();
      await sleep(clock, Math.max(PERIOD_MS, (clock.monotonicMs() - startedMs) * REST_FACTOR), signal);
    }
    await looking;
    this.#wake();
  }

  /** Everything that was committed before it is in the log. */
  get moment(): Moment {
    return this.#read;
  }

  /** Why nothing could be read for a while, silence included; undefined while the last reading succeeded not long ago. */
  get failure(): QueryError | undefined {
    const sinceMs = this.#failedSinceMs ?? this.#readingSinceMs;
    if (sinceMs === undefined || this.#options.clock.monotonicMs() - sinceMs < SILENT_MS) return undefined;
    return this.#failure ?? queryErrorOf(new StorageUnavailableError('no answer', undefined));
  }

  /** Why the last reading failed. */
  get lastFailure(): QueryError | undefined {
    return this.#failure;
  }

  /** Where a watch goes on that knows everything up to the moment; undefined where the log does not reach back to it. */
  placeAfter(moment: Moment): number | undefined {
    const from = moment - LOOK_BACK;
    if (from < this.#complete || moment - CLOCKS_APART <= this.#dropped) return undefined;
    const index = this.#changes.findIndex(({ at, foundAt }) => at >= from && foundAt >= moment - CLOCKS_APART);
    return index < 0 ? this.end : this.#first + index;
  }

  /** The same for a watch whose last change was the one with this version of the object. */
  placeAfterVersion(resourceVersion: string): number | undefined {
    const change = this.#changes.findLast(({ stored }) => stored.resourceVersion === resourceVersion);
    return change === undefined ? undefined : this.placeAfter(change.at);
  }

  /** The changes from a place on, at most so many; undefined where they are gone. */
  from(place: number, most: number): readonly Change[] | undefined {
    if (place < this.#first) return undefined;
    return this.#changes.slice(place - this.#first, place - this.#first + most);
  }

  /** Where the next change will be. */
  get end(): number {
    return this.#first + this.#changes.length;
  }

  /** Resolves after the next reading, whether it has found anything or has failed, and within a second in any case. */
  next(): Promise<unknown> {
    const waiter = Promise.withResolvers<undefined>();
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(undefined);
  }

  async #readOn(signal: AbortSignal): Promise<void> {
    const { storage, clock } = this.#options;
    const started = momentOf(clock.now());
    const reads = storage.until(signal);
    const since = this.#read - LOOK_BACK;
    this.#forgetBefore(since);
    const changed = await this.#changedSince(reads, since);
    // The gate was closed or opened: rows may have been set back to what they were, with the times of then.
    if (storage.gateState !== this.#gateState || changed === 'too many') {
      this.#reset(started);
      return;
    }
    for (const change of this.#changes) change.shown.clear();
    await this.#addObjects(reads, changed);
    this.#read = started;
  }

  async #changedSince(reads: ChangeReads, since: Moment): Promise<readonly ChangedRow[] | 'too many'> {
    const { kind } = this.#options;
    const fresh: ChangedRow[] = [];
    let after: ChangedRow | undefined;
    for (;;) {
      const query = { since: timeOf(since), limit: PAGE_KEYS, ...(after === undefined ? {} : { after }) };
      const page = await reads.changed(kind, query);
      fresh.push(...page.filter(({ key, updateTime }) => this.#found.get(key) !== updateTime));
      if (fresh.length > MOST_CHANGES) return 'too many';
      after = page.at(-1);
      if (page.length < PAGE_KEYS) return fresh;
    }
  }

  /** In the order of their times, page by page. */
  async #addObjects(reads: Pick<StorageReads, 'list'>, changed: readonly ChangedRow[]): Promise<void> {
    const { kind } = this.#options;
    for (let start = 0; start < changed.length; start += PAGE_OBJECTS) {
      const values = changed.slice(start, start + PAGE_OBJECTS).map(({ key }) => key);
      const where = { field: 'metadata.uid', operator: 'in', values } as const;
      let position: { readonly continue?: string } = {};
      do {
        const page = await reads.list(kind, {
          ...{ where, order: byUpdateTime, deleted: 'included', limit: PAGE_OBJECTS },
          ...pageBounds,
          ...position,
        });
        for (const stored of page.items) this.#add(stored);
        position = page.continue === undefined ? {} : { continue: page.continue };
      } while (position.continue !== undefined);
    }
  }

  #add(stored: StoredObject): void {
    const key = keyOf(stored);
    if (this.#found.get(key) === stored.updateTime) return;
    const metadata = metadataOf(stored);
    const { creationTimestamp: created } = metadata;
    const isNew = !this.#found.has(key) && typeof created === 'string' && momentAt(created) >= this.#begun - SECOND;
    this.#found.set(key, stored.updateTime);
    const labels = isJsonObject(metadata['labels']) ? (metadata['labels'] as Record<string, string>) : {};
    const foundAt = momentOf(this.#options.clock.now());
    const at = momentAt(stored.updateTime);
    const change: Change = { stored, at, foundAt, isNew, labels, shown: new Map(), isSuperseded: false };
    const before = this.#last.get(key);
    if (before !== undefined) before.isSuperseded = true;
    this.#last.set(key, change);
    this.#changes.push(change);
    this.#bytes += stored.json.length;
    while (this.#bytes > this.#options.mostBytes() && this.#changes.length > 1) this.#drop();
  }

  #drop(): void {
    const oldest = this.#changes.shift();
    if (oldest === undefined) return;
    if (!oldest.isSuperseded) this.#last.delete(keyOf(oldest.stored));
    this.#first += 1;
    this.#bytes -= oldest.stored.json.length;
    this.#dropped = oldest.foundAt;
  }

  #forgetBefore(moment: Moment): void {
    for (const [key, updateTime] of this.#found) if (momentAt(updateTime) < moment) this.#found.delete(key);
  }

  /** Every watch has to begin anew: what it knows may be of another time. */
  #reset(now: Moment): void {
    this.#first = this.end + 1;
    this.#changes = [];
    this.#bytes = 0;
    this.#found.clear();
    this.#last.clear();
    this.#complete = now - LOOK_BACK;
    this.#read = now;
    this.#gateState = this.#options.storage.gateState;
  }
}

function keyOf({ key, uid }: StoredObject): string {
  return key ?? uid;
}

function metadataOf({ json }: StoredObject): JsonObject {
  const metadata = valueAt(parseLossless(json), ['metadata']);
  return isJsonObject(metadata) ? metadata : {};
}
