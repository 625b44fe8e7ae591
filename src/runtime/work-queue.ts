// A queue of keys for level-triggered work, with priorities.
//
//             delay > 0                 time has come
//   add ──┬───────────────▶ waiting ───────────────────┐
//         │                    │ added without delay   ▼
//         └────────────────────┴──────────────────▶  ready ──────▶ held by one worker ──▶ done
//                                                      ▲                    │
//                                                      └── added meanwhile ─┘  not handed out before done
//
// The merge law. A key that is known and added again keeps one entry: the earlier of both times (now is the earliest),
// and the higher of both priorities. A raise goes to the back of the line of the new priority. Nothing is ever lowered
// or made later. So an event cancels the wait of a retry, and any number of events during a run give one run more.
//
// Order. The highest priority first. Within a priority namespaces take turns, so that thousands of keys of one delay a key of
// another by one hand-out each; within a namespace who became ready first. Aging corrects it: a key that has been ready for
// longer than `aging.afterMs` is handed out in its turn of age, in every `aging.oneIn`-th hand-out, so that a steady stream
// of urgent work cannot starve the initial list, nor the initial list delay urgent work.
import type { Clock } from '../base/clock.ts';
import { noQueueMetrics, type QueueMetrics } from './controller-metrics.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { PriorityLines, type Ticket } from './priority-lines.ts';

/** For work that can wait: the initial list, and updates that changed nothing. */
export const LOW_PRIORITY = -100;

export interface AddOptions {
  /** Milliseconds until the key becomes ready. */
  readonly afterMs?: number;
  /** 0 unless given. */
  readonly priority?: number;
}

export interface AgingOptions {
  /** From this wait on a ready key is handed out regardless of its priority ... */
  readonly afterMs: number;
  /** ... in one of so many hand-outs. */
  readonly oneIn: number;
}

export interface QueueOptions {
  readonly aging?: AgingOptions;
  readonly metrics?: QueueMetrics;
}

export interface Taken {
  readonly key: string;
  /** To be given back when the key is added again, so that a retry keeps it. */
  readonly priority: number;
}

const defaultAging: AgingOptions = { afterMs: 10_000, oneIn: 4 };

interface Entry extends Ticket {
  heapIndex: number;
  /** When it becomes ready, in monotonic milliseconds; only while it waits. */
  dueMs: number;
  /** Order of adding, which decides among waiting keys that fall due together. */
  order: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #aging: AgingOptions;
  readonly #metrics: QueueMetrics;
  /** Ready and waiting keys; a held key is here only if it was added again. */
  readonly #entries = new Map<string, Entry>();
  readonly #ready = new PriorityLines();
  readonly #waiting = new IndexedHeap<Entry>(dueBefore);
  /** Keys that workers hold, and since when. */
  readonly #held = new Map<string, number>();
  readonly #takers: ((taken: Taken | undefined) => void)[] = [];
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined;
  #order = 0;
  /** Hand-outs since the last one that went by age. */
  #sinceAged = 0;
  #closed = false;
  readonly #isFree = (ticket: Ticket): boolean => !this.#held.has(ticket.key);

  constructor(clock: Clock, options: QueueOptions = {}) {
    this.#clock = clock;
    this.#aging = options.aging ?? defaultAging;
    this.#metrics = options.metrics ?? noQueueMetrics;
    this.#metrics.watchHeld(() => this.#heldSeconds());
  }

  /** Keys that are ready, whether or not a worker still holds an earlier run of them. */
  get length(): number {
    return this.#ready.size;
  }

  /** Keys that are ready or held by a worker. What waits for its time is not among them. */
  unfinished(): Set<string> {
    const keys = new Set(this.#held.keys());
    for (const [key, { byAge }] of this.#entries) if (byAge !== undefined) keys.add(key);
    return keys;
  }

  /** Adds by the merge law. Ignored after shut-down. */
  add(key: string, { afterMs = 0, priority = 0 }: AddOptions = {}): void {
    if (this.#closed) return;
    const dueMs = afterMs > 0 ? this.#clock.monotonicMs() + afterMs : undefined;
    if (dueMs !== undefined) this.#metrics.retried();
    const known = this.#entries.get(key);
    if (known === undefined) this.#insert(key, priority, dueMs);
    else this.#merge(known, priority, dueMs);
    this.#armTimer();
    if (this.#takers.length > 0) this.#handOut();
  }

  /** The next key, held until `done`; undefined once the queue is shut down. */
  get(): Promise<Taken | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const taken = this.#takers.length === 0 ? this.#take() : undefined;
    if (taken !== undefined) return Promise.resolve(taken);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The worker gives the key back; if it was added meanwhile, it may be handed out again. */
  done(key: string): void {
    const sinceMs = this.#held.get(key);
    if (sinceMs === undefined) return;
    this.#held.delete(key);
    this.#metrics.finished((this.#clock.monotonicMs() - sinceMs) / 1000);
    if (this.#takers.length > 0) this.#handOut();
  }

  /** Drops everything queued and releases every waiting worker. The next start lists everything again. */
  shutDown(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const entry of this.#entries.values()) if (entry.byAge !== undefined) this.#metrics.dropped(entry.priority);
    this.#entries.clear();
    this.#ready.clear();
    this.#waiting.clear();
    this.#armTimer();
    for (const release of this.#takers.splice(0)) release(undefined);
  }

  #insert(key: string, priority: number, dueMs: number | undefined): void {
    const entry: Entry = {
      key,
      priority,
      readySinceMs: 0,
      inLine: undefined,
      byAge: undefined,
      heapIndex: -1,
      dueMs: dueMs ?? 0,
      order: this.#order++,
    };
    this.#entries.set(key, entry);
    if (dueMs === undefined) this.#makeReady(entry);
    else this.#waiting.push(entry);
  }

  #merge(entry: Entry, priority: number, dueMs: number | undefined): void {
    const waits = entry.heapIndex !== -1;
    if (priority > entry.priority) this.#raise(entry, priority);
    if (!waits) return;
    if (dueMs === undefined) {
      this.#waiting.remove(entry);
      this.#makeReady(entry);
    } else if (dueMs < entry.dueMs) {
      entry.dueMs = dueMs;
      this.#waiting.moved(entry);
    }
  }

  #raise(entry: Entry, priority: number): void {
    if (entry.heapIndex === -1) {
      this.#metrics.moved(entry.priority, priority);
      this.#ready.move(entry, priority);
      return;
    }
    entry.priority = priority;
    entry.order = this.#order++;
    this.#waiting.moved(entry);
  }

  #makeReady(entry: Entry): void {
    entry.readySinceMs = this.#clock.monotonicMs();
    this.#ready.add(entry);
    this.#metrics.added(entry.priority);
  }

  #handOut(): void {
    while (this.#takers.length > 0) {
      const taken = this.#take();
      if (taken === undefined) return;
      this.#takers.shift()?.(taken);
    }
  }

  #take(): Taken | undefined {
    const nowMs = this.#clock.monotonicMs();
    const aged = this.#aged(nowMs);
    const ticket = aged ?? this.#ready.best(this.#isFree);
    if (ticket === undefined) return undefined;
    this.#sinceAged = aged === undefined ? this.#sinceAged + 1 : 0;
    const { key, priority } = ticket;
    this.#ready.remove(ticket);
    this.#entries.delete(key);
    this.#held.set(key, nowMs);
    this.#metrics.taken(priority, (nowMs - ticket.readySinceMs) / 1000);
    return { key, priority };
  }

  /** The key that has waited longest, if that is too long and it is the turn of age. */
  #aged(nowMs: number): Ticket | undefined {
    if (this.#sinceAged + 1 < this.#aging.oneIn) return undefined;
    const oldest = this.#ready.oldest(this.#isFree);
    return oldest !== undefined && nowMs - oldest.readySinceMs > this.#aging.afterMs ? oldest : undefined;
  }

  /** One timer, for the first of the waiting keys. */
  #armTimer(): void {
    const dueMs = this.#waiting.first?.dueMs;
    if (dueMs === this.#timer?.dueMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (dueMs === undefined) return;
    const cancel = this.#clock.schedule(dueMs - this.#clock.monotonicMs(), () => this.#wakeDue());
    this.#timer = { dueMs, cancel };
  }

  #wakeDue(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let next = this.#waiting.first; next !== undefined && next.dueMs <= nowMs; next = this.#waiting.first) {
      this.#waiting.remove(next);
      this.#makeReady(next);
    }
    this.#armTimer();
    this.#handOut();
  }

  *#heldSeconds(): Generator<number> {
    const nowMs = this.#clock.monotonicMs();
    for (const sinceMs of this.#held.values()) yield (nowMs - sinceMs) / 1000;
  }
}

function dueBefore(left: Entry, right: Entry): boolean {
  if (left.dueMs !== right.dueMs) return left.dueMs < right.dueMs;
  return left.priority === right.priority ? left.order < right.order : left.priority > right.priority;
}
