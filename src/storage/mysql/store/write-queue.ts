// The writes that wait for a transaction. Two writes of one object are never in the hands of writers at the same time:
// the second becomes ready when the first is settled, so they reach the database in the order they were submitted.
//
// Writes that would hold up others go apart: one transaction of them at a time, with a part of the room of their own, so
// that all other writes have the other transactions and the rest of the room whatever these do.

/** A write and the promise of its caller. */
export interface Entry<W, R> {
  readonly key: string;
  readonly bytes: number;
  /** Whether it would hold up those that share its transaction. */
  readonly apart: boolean;
  readonly write: W;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

interface Line<W, R> {
  readonly limitBytes: number;
  /** Of each key at most one, and none while one of it is taken. */
  readonly ready: Entry<W, R>[];
  readyBytes: number;
  /** Entries that the byte limit keeps out. */
  readonly outside: Entry<W, R>[];
  /** Of those that are ready, taken, or behind one of their key. */
  bytes: number;
  taken: number;
}

/** All writes of a key are in one line, or they could overtake each other. */
interface Key<W, R> {
  readonly line: Line<W, R>;
  /** Behind the one that is ready or taken. */
  readonly followers: Entry<W, R>[];
  hasFirst: boolean;
  unsettled: number;
}

const APART_SHARE = 0.25;

export class WriteQueue<W, R> {
  readonly #together: Line<W, R>;
  readonly #apart: Line<W, R>;
  readonly #keys = new Map<string, Key<W, R>>();
  #tookApart = false;

  constructor(limitBytes: number) {
    this.#together = line(limitBytes * (1 - APART_SHARE));
    this.#apart = line(limitBytes * APART_SHARE);
  }

  /** Bytes that are queued or being written. Each line is never above its share, but for a single entry larger than it. */
  get bytes(): number {
    return this.#together.bytes + this.#apart.bytes;
  }

  /** How many could be taken now. */
  get readyRows(): number {
    return this.#takeable().reduce((sum, { ready }) => sum + ready.length, 0);
  }

  get readyBytes(): number {
    return this.#takeable().reduce((sum, { readyBytes }) => sum + readyBytes, 0);
  }

  add(entry: Entry<W, R>): void {
    const key = this.#keys.get(entry.key) ?? {
      line: entry.apart ? this.#apart : this.#together,
      followers: [],
      hasFirst: false,
      unsettled: 0,
    };
    key.unsettled += 1;
    this.#keys.set(entry.key, key);
    if (key.line.outside.length > 0 || !fits(key.line, entry)) key.line.outside.push(entry);
    else admit(key, entry);
  }

  /** The next entries of a line, oldest first, at least one where one is ready. They stay counted until they are settled. */
  take({ maxRows, maxBytes }: BatchLimits): readonly Entry<W, R>[] {
    const lines = this.#takeable().filter(({ ready }) => ready.length > 0);
    const from = lines.find((each) => (each === this.#apart) !== this.#tookApart) ?? lines[0] ?? this.#together;
    this.#tookApart = from === this.#apart;
    let bytes = 0;
    let rows = 0;
    for (const entry of from.ready) {
      if (rows === maxRows || (rows > 0 && bytes + entry.bytes > maxBytes)) break;
      bytes += entry.bytes;
      rows += 1;
    }
    from.readyBytes -= bytes;
    from.taken += rows;
    return from.ready.splice(0, rows);
  }

  /** Says that a taken entry is done with; whatever waited for its key or its room moves up. */
  settle(entry: Entry<W, R>): void {
    const key = this.#keys.get(entry.key);
    if (key === undefined) return;
    const { line: own, followers } = key;
    own.bytes -= entry.bytes;
    own.taken -= 1;
    key.unsettled -= 1;
    if (key.unsettled === 0) this.#keys.delete(entry.key);
    key.hasFirst = false;
    const next = followers.shift();
    if (next !== undefined) makeFirst(key, next);
    for (let first = own.outside[0]; first !== undefined && fits(own, first); first = own.outside[0]) {
      own.outside.shift();
      const waiting = this.#keys.get(first.key);
      if (waiting !== undefined) admit(waiting, first);
    }
  }

  #takeable(): readonly Line<W, R>[] {
    return this.#apart.taken > 0 ? [this.#together] : [this.#together, this.#apart];
  }
}

function line<W, R>(limitBytes: number): Line<W, R> {
  return { limitBytes, ready: [], readyBytes: 0, outside: [], bytes: 0, taken: 0 };
}

function fits<W, R>({ bytes, limitBytes }: Line<W, R>, entry: Entry<W, R>): boolean {
  return bytes === 0 || bytes + entry.bytes <= limitBytes;
}

function admit<W, R>(key: Key<W, R>, entry: Entry<W, R>): void {
  key.line.bytes += entry.bytes;
  if (key.hasFirst) key.followers.push(entry);
  else makeFirst(key, entry);
}

function makeFirst<W, R>(key: Key<W, R>, entry: Entry<W, R>): void {
  key.hasFirst = true;
  key.line.ready.push(entry);
  key.line.readyBytes += entry.bytes;
}
