// The resourceVersion of each of very many objects, by uid: at most 96 bytes for each, and none of them for the collector to look at.

/** Of a uid as the API server makes them, and of a version below 2^53: four words and two. */
const WORDS = 6;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const HALF = 2 ** 32;
const FIRST_SLOTS = 1024;

export class VersionIndex {
  /** Slots of WORDS, found by the uid and then one after the other; a slot without a version is free. */
  #slots = new Uint32Array(FIRST_SLOTS * WORDS);
  #used = 0;
  /** What does not fit a slot. */
  readonly #others = new Map<string, string>();
  readonly #sought = new Uint32Array(WORDS);

  /** Once for each uid. */
  set(uid: string, resourceVersion: string): void {
    if (!this.#pack(uid, resourceVersion)) {
      this.#others.set(uid, resourceVersion);
      return;
    }
    if (this.#used * 2 >= this.#slots.length / WORDS) this.#grow();
    this.#slots.set(this.#sought, placeOf(this.#slots, this.#sought));
    this.#used += 1;
  }

  /** Whether this version was set for the uid. */
  has(uid: string, resourceVersion: string): boolean {
    if (!this.#pack(uid, resourceVersion)) return this.#others.get(uid) === resourceVersion;
    const at = placeOf(this.#slots, this.#sought);
    return this.#slots[at + 4] === this.#sought[4] && this.#slots[at + 5] === this.#sought[5];
  }

  /** False where it does not fit. */
  #pack(uid: string, resourceVersion: string): boolean {
    const version = Number(resourceVersion);
    if (!UUID.test(uid) || !Number.isSafeInteger(version) || version < 1 || String(version) !== resourceVersion)
      return false;
    const words = this.#sought;
    words[0] = Number.parseInt(uid.slice(0, 8), 16);
    words[1] = Number.parseInt(uid.slice(9, 13) + uid.slice(14, 18), 16);
    words[2] = Number.parseInt(uid.slice(19, 23) + uid.slice(24, 28), 16);
    words[3] = Number.parseInt(uid.slice(28), 16);
    words[4] = Math.floor(version / HALF);
    words[5] = version % HALF;
    return true;
  }

  #grow(): void {
    const grown = new Uint32Array(this.#slots.length * 2);
    for (let at = 0; at < this.#slots.length; at += WORDS) {
      if (isFree(this.#slots, at)) continue;
      const slot = this.#slots.subarray(at, at + WORDS);
      grown.set(slot, placeOf(grown, slot));
    }
    this.#slots = grown;
  }
}

/** Where the uid is, or the free slot where it would be. Half of all slots are free. */
function placeOf(slots: Uint32Array, sought: Uint32Array): number {
  const count = slots.length / WORDS;
  // A power of two. The API server makes uids at random.
  let slot = ((sought[0] ?? 0) ^ (sought[3] ?? 0)) & (count - 1);
  for (;;) {
    const at = slot * WORDS;
    if (isFree(slots, at) || isSame(slots, at, sought)) return at;
    slot = (slot + 1) & (count - 1);
  }
}

function isFree(slots: Uint32Array, at: number): boolean {
  return slots[at + 4] === 0 && slots[at + 5] === 0;
}

function isSame(slots: Uint32Array, at: number, sought: Uint32Array): boolean {
  return (
    slots[at] === sought[0] && slots[at + 1] === sought[1] && slots[at + 2] === sought[2] && slots[at + 3] === sought[3]
  );
}
