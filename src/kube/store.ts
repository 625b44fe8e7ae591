import type { Identity } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { ByteBudget } from '../base/byte-budget.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { KnownObject, WatchedObject } from './watched-object.ts';

/** What waits for a database that is down must not fill the memory, nor leave it in pieces that malloc cannot give back. */
export const HELD_BYTES: number = 32 * 1024 * 1024;
/** For an object of unknown size. */
const GUESSED_BYTES = 4096;
/** A list brings more while less of the room is used than this: the rest is for what cannot wait, such as a watch. */
const LISTED = 0.375;
/** What waits for the end of a list is kept while less is used than this, so that the list goes on. */
const WAITING = 0.25;
/** A list waits no longer while nothing is let go: what holds everything up may be mended only by what it brings. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;
/** With more objects than this before it, an object will wait long enough for its memory to matter. */
const QUEUE = 256;

/**
 * Keeps identities, and whole objects only until they are released, while there is room for them; stores may share it. A
 * handler that has dealt with an object releases it; what it needs later it reads from the API server. An idle cluster
 * then costs about 135 bytes an object.
 */
export class IdentityStore {
  /** Version and uid of each object as one text, by key: as an object with two texts they took twice the memory. */
  readonly #states = new Map<string, string>();
  /** Whole objects that are not released yet. */
  readonly #held = new Map<string, WatchedObject>();
  readonly #room: ByteBudget;
  /** What had been given back of the room when a list last lost its patience. */
  #gaveUpAt = -1;

  constructor(room: ByteBudget = new ByteBudget(HELD_BYTES)) {
    this.#room = room;
  }

  get size(): number {
    return this.#states.size;
  }

  /** Whole objects that are not released yet. */
  get heldCount(): number {
    return this.#held.size;
  }

  keys(): IterableIterator<string> {
    return this.#states.keys();
  }

  *identities(): Iterable<Identity> {
    for (const [key, state] of this.#states) yield identityOf(key, state);
  }

  known(key: string): KnownObject | undefined {
    const state = this.#states.get(key);
    return state === undefined ? undefined : this.#knownAs(key, state);
  }

  /** The whole object, or undefined once it was let go or where there is none: ask `has`. */
  get(key: string): WatchedObject | undefined {
    return this.#held.get(key);
  }

  has(key: string): boolean {
    return this.#states.has(key);
  }

  /** Which object has the key, and in which state it was last seen. */
  identity(key: string): Identity | undefined {
    const state = this.#states.get(key);
    return state === undefined ? undefined : identityOf(key, state);
  }

  /** Stores the object and returns what was there before. */
  set(object: WatchedObject): KnownObject | undefined {
    const { key } = object;
    const state = stateOf(object.identity);
    const last = this.#states.get(key);
    const before = last === undefined ? undefined : this.#knownAs(key, last);
    // A new list repeats what was dealt with long ago; only what changed is held.
    if (last === state) return before;
    this.#letGo(key);
    this.#states.set(key, state);
    this.#hold(object);
    return before;
  }

  /** Returns what was removed. */
  delete(key: string): KnownObject | undefined {
    const before = this.known(key);
    this.#states.delete(key);
    this.#letGo(key);
    return before;
  }

  /** Forgets the whole object, unless a newer state has arrived meanwhile. */
  release(key: string, resourceVersion: string): void {
    if (this.#held.get(key)?.identity.resourceVersion === resourceVersion) this.#letGo(key);
  }

  /**
   * Resolves when a list may bring more: there is room, or nothing was let go for a while, as where MySQL is away or this
   * replica does not lead. Then what comes is kept by its identity, until something is let go again.
   */
  async untilRoom(clock: Clock, signal: AbortSignal): Promise<void> {
    let seen = this.#room.given;
    let sinceMs = clock.monotonicMs();
    while (this.#room.usedPart >= LISTED && this.#gaveUpAt !== this.#room.given && !isAborted(signal)) {
      await sleep(clock, POLL_MS, signal);
      const { given } = this.#room;
      const nowMs = clock.monotonicMs();
      if (given !== seen) [seen, sinceMs] = [given, nowMs];
      else if (nowMs - sinceMs >= PATIENCE_MS) this.#gaveUpAt = given;
    }
  }

  /** Whether an object that waits for the end of a list need not be let go. */
  get mayKeepWaiting(): boolean {
    return this.#room.usedPart < WAITING;
  }

  /** Forgets all whole objects, so that each is read anew. */
  releaseAll(): void {
    for (const key of this.#held.keys()) this.#letGo(key);
  }

  #hold(object: WatchedObject): void {
    const received = bytesOf(object);
    if (!this.#room.tryTake(received)) return;
    if (this.#held.size >= QUEUE) {
      object.compact();
      this.#room.give(received - bytesOf(object));
    }
    this.#held.set(object.key, object);
  }

  #letGo(key: string): void {
    const object = this.#held.get(key);
    if (object === undefined) return;
    this.#room.give(bytesOf(object));
    this.#held.delete(key);
  }

  #knownAs(key: string, state: string): KnownObject {
    return this.#held.get(key) ?? { key, identity: identityOf(key, state), watched: undefined };
  }
}

function bytesOf({ bytes }: WatchedObject): number {
  return bytes ?? GUESSED_BYTES;
}

/** Joined, not added: a sum of texts keeps both of them and itself. */
function stateOf({ resourceVersion, uid }: Identity): string {
  return [resourceVersion, uid].join(' ');
}

function identityOf(key: string, state: string): Identity {
  const [slash, blank] = [key.indexOf('/'), state.indexOf(' ')];
  return {
    namespace: key.slice(0, slash) || undefined,
    name: key.slice(slash + 1),
    uid: state.slice(blank + 1),
    resourceVersion: state.slice(0, blank),
  };
}
