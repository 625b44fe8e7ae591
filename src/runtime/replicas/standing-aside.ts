// A replica that cannot use MySQL while others can leaves its buckets to them. Where none can, each keeps its own: moving them
// would help no object, and be work when MySQL is back.

/** What the holder of a slot says of MySQL, in its Lease; `aside`: it leaves its part to the others. */
export type StorageUse = 'available' | 'unavailable' | 'aside';

/** Both have to last: MySQL goes and comes for each replica at another moment. */
export const LASTS_MS = 30_000;

export class StandingAside {
  readonly #available = new Map<string, number>();
  #unavailableSinceMs: number | undefined;
  #use: StorageUse = 'available';

  /** What this process is to say, given what the others do. */
  update(others: ReadonlyMap<string, StorageUse>, isAvailable: boolean, nowMs: number): StorageUse {
    for (const holder of this.#available.keys()) if (others.get(holder) !== 'available') this.#available.delete(holder);
    for (const [holder, use] of others)
      if (use === 'available' && !this.#available.has(holder)) this.#available.set(holder, nowMs);
    if (isAvailable) this.#unavailableSinceMs = undefined;
    else this.#unavailableSinceMs ??= nowMs;
    this.#use = this.#next(nowMs);
    return this.#use;
  }

  /** Who stands aside does so until it can use MySQL itself. */
  #next(nowMs: number): StorageUse {
    if (this.#unavailableSinceMs === undefined) return 'available';
    if (this.#use === 'aside') return 'aside';
    const lasts = (sinceMs: number): boolean => nowMs - sinceMs >= LASTS_MS;
    const others = [...this.#available.values()].some(lasts);
    return others && lasts(this.#unavailableSinceMs) ? 'aside' : 'unavailable';
  }
}
