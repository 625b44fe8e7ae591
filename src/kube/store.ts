import type { Identity } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { ByteBudget } from '../base/byte-budget.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { KnownObject, WatchedObject } from './watched-object.ts';

/** What waits for a database that is down must not fill the memory. */
const HELD_BYTES = 64 * 1024 * 1024;
/** For an object of unknown size. */
const GUESSED_BYTES = 4096;
/** A list brings more while less of the room is used than this: the rest is for what cannot wait, such as a watch. */
const LISTED = 0.5;
/** What waits for the end of a list is kept while less is used than this, so that the list goes on. */
const WAITING = 0.25;
/** A list waits no longer while nothing is let go: what holds everything up may be mended only by what it brings. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;
/** With more objects than this before it, an object will wait long enough for its memory to matter. */
const QUEUE = 256;

interface Entry {
  uid: string;
  resourceVersion: string;
  /** The whole object, until it is released. */
  held: WatchedObject | undefined;
}

/**
 * Keeps identities, and whole objects only until they are released, while there is room for them; stores may share it. A
 * handler that has dealt with an object releases it; what it needs later it reads from the API server. An idle cluster
 * then costs a few hundred bytes an object.
 */
export class IdentityStore {
  readonly #entries = new Map<string, Entry>();
  readonly #room: ByteBudget;
  #heldCount = 0;
  /** What had been given back of the room when a list last lost its patience. */
  #gaveUpAt = -1;

  constructor(room: ByteBudget = new ByteBudget(HELD_BYTES)) {
    this.#room = room;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whole objects that are not released yet. */
  get heldCount(): number {
    return this.#heldCount;
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  *identities(): Iterable<Identity> {
    for (const [key, entry] of this.#entries) yield identityOf(key, entry);
  }

  known(key: string): KnownObject | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : knownAs(key, entry);
  }

  /** The whole object, or undefined once it was let go or where there is none: ask `has`. */
  get(key: string): WatchedObject | undefined {
    return this.#entries.get(key)?.held;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Which object has the key, and in which state it was last seen. */
  identity(key: string): Identity | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : identityOf(key, entry);
  }

  /** Stores the object and returns what was there before. */
  set(object: WatchedObject): KnownObject | undefined {
    const { key } = object;
    const { uid, resourceVersion } = object.identity;
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      const added: Entry = { uid, resourceVersion, held: undefined };
      this.#entries.set(key, added);
      this.#hold(added, object);
      return undefined;
    }
    const before = knownAs(key, entry);
    // A new list repeats what was dealt with long ago; only what changed is held.
    if (entry.uid === uid && entry.resourceVersion === resourceVersion) return before;
    this.#letGo(entry);
    entry.uid = uid;
    entry.resourceVersion = resourceVersion;
    this.#hold(entry, object);
    return before;
  }

  /** Returns what was removed. */
  delete(key: string): KnownObject | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const before = knownAs(key, entry);
    this.#entries.delete(key);
    this.#letGo(entry);
    return before;
  }

  /** Forgets the whole object, unless a newer state has arrived meanwhile. */
  release(key: string, resourceVersion: string): void {
    const entry = this.#entries.get(key);
    if (entry?.resourceVersion === resourceVersion) this.#letGo(entry);
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
    for (const entry of this.#entries.values()) this.#letGo(entry);
  }

  #hold(entry: Entry, object: WatchedObject): void {
    const received = bytesOf(object);
    if (!this.#room.tryTake(received)) return;
    if (this.#heldCount >= QUEUE) {
      object.compact();
      this.#room.give(received - bytesOf(object));
    }
    entry.held = object;
    this.#heldCount += 1;
  }

  #letGo(entry: Entry): void {
    if (entry.held === undefined) return;
    this.#room.give(bytesOf(entry.held));
    entry.held = undefined;
    this.#heldCount -= 1;
  }
}

function bytesOf({ bytes }: WatchedObject): number {
  return bytes ?? GUESSED_BYTES;
}

function knownAs(key: string, entry: Entry): KnownObject {
  return entry.held ?? { key, identity: identityOf(key, entry), watched: undefined };
}

function identityOf(key: string, { uid, resourceVersion }: Entry): Identity {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash) || undefined, name: key.slice(slash + 1), uid, resourceVersion };
}
