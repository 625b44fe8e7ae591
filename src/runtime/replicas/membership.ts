// Which replicas count when buckets are divided. One that comes counts after a while, together with those that came
// meanwhile, so that a rollout does not move the buckets with each pod; one that goes is left out at once.

interface Member {
  readonly slot: number;
  readonly sinceMs: number;
  counts: boolean;
}

/** From when a replica came until it counts. */
export const SETTLE_MS = 3000;

export class Membership {
  readonly #members = new Map<string, Member>();
  #first = true;

  /** The slots that count. `live` has the holders of slots; those of the first call count at once, but for `own`. */
  update(live: ReadonlyMap<string, number>, own: string, nowMs: number): readonly number[] {
    for (const holder of this.#members.keys()) if (!live.has(holder)) this.#members.delete(holder);
    for (const [holder, slot] of live) {
      const counts = this.#first && holder !== own;
      if (!this.#members.has(holder)) this.#members.set(holder, { slot, sinceMs: nowMs, counts });
    }
    this.#first = false;
    const members = [...this.#members.values()];
    if (members.some(({ counts, sinceMs }) => !counts && nowMs - sinceMs >= SETTLE_MS))
      for (const member of members) member.counts = true;
    return members.filter(({ counts }) => counts).map(({ slot }) => slot);
  }
}
