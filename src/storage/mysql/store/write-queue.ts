// The writes that wait for a transaction. Two writes of one object are never in the hands of writers at the same time:
// the second becomes ready when the first is settled, so they reach the database in the order they were submitted.

/** A write and the promise of its caller. */
export interface Entry<W, R> {
  readonly key: string;
  readonly bytes: number;
  readonly write: W;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

export class WriteQueue<W, R> {
  /** At most one entry per key is ready or taken; the others of its key wait in `#followers`. */
  readonly #ready: Entry<W, R>[] = [];
  readonly #followers = new Map<string, Entry<W, R>[]>();
  /** Entries that the byte limit keeps out. */
  readonly #outside: Entry<W, R>[] = [];
  readonly #limitBytes: number;
  #bytes = 0;
  #readyBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Bytes that are queued or being written. Never above the limit, but for a single entry larger than it. */
  get bytes(): number {
    return this.#bytes;
  }

  get readyRows(): number {
    return this.#ready.length;
  }

  get readyBytes(): number {
    return this.#readyBytes;
  }

  add(entry: Entry<W, R>): void {
    if (this.#outside.length > 0 || !this.#fits(entry)) this.#outside.push(entry);
    else this.#admit(entry);
  }

  /** The next entries, oldest first, at least one. They stay counted until they are settled. */
  take({ maxRows, maxBytes }: BatchLimits): readonly Entry<W, R>[] {
    let bytes = 0;
    let rows = 0;
    for (const entry of this.#ready) {
      if (rows === maxRows || (rows > 0 && bytes + entry.bytes > maxBytes)) break;
      bytes += entry.bytes;
      rows += 1;
    }
    this.#readyBytes -= bytes;
    return this.#ready.splice(0, rows);
  }

  /** Says that a taken entry is done with; whatever waited for its key or its room moves up. */
  settle({ key, bytes }: Entry<W, R>): void {
    this.#bytes -= bytes;
    const followers = this.#followers.get(key);
    const next = followers?.shift();
    if (next === undefined) this.#followers.delete(key);
    else this.#makeReady(next);
    for (let first = this.#outside[0]; first !== undefined && this.#fits(first); first = this.#outside[0]) {
      this.#outside.shift();
      this.#admit(first);
    }
  }

  #fits({ bytes }: Entry<W, R>): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#limitBytes;
  }

  #admit(entry: Entry<W, R>): void {
    this.#bytes += entry.bytes;
    const followers = this.#followers.get(entry.key);
    if (followers !== undefined) {
      followers.push(entry);
      return;
    }
    this.#followers.set(entry.key, []);
    this.#makeReady(entry);
  }

  #makeReady(entry: Entry<W, R>): void {
    this.#ready.push(entry);
    this.#readyBytes += entry.bytes;
  }
}
