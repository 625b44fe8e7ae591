import { identityOf, type KubernetesObject, objectKey } from '../api/object.ts';
import { ByteBudget } from '../base/byte-budget.ts';
import { compact, receivedBytes } from './lazy-object.ts';

export interface StoredIdentity {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The local copy of one resource. */
export interface ObjectStore {
  readonly size: number;
  keys(): IterableIterator<string>;
  /** Stores the object and returns what was there before. */
  set(object: KubernetesObject): KubernetesObject | undefined;
  /** Returns what was removed. */
  delete(key: string): KubernetesObject | undefined;
  get(key: string): KubernetesObject | undefined;
  has(key: string): boolean;
  /** Which object has the key, and in which state it was last seen. */
  identity(key: string): StoredIdentity | undefined;
  /** The object as far as it is still known: whole, or its identity. */
  latest(key: string): KubernetesObject | undefined;
  /** All objects, as `latest` gives them. */
  values(): Iterable<KubernetesObject>;
}

/** Keeps whole objects. */
export class FullStore implements ObjectStore {
  readonly #objects = new Map<string, KubernetesObject>();

  get size(): number {
    return this.#objects.size;
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  values(): Iterable<KubernetesObject> {
    return this.#objects.values();
  }

  get(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  latest(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  identity(key: string): StoredIdentity | undefined {
    return this.#objects.get(key)?.metadata;
  }

  set(object: KubernetesObject): KubernetesObject | undefined {
    const key = objectKey(object);
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    return before;
  }

  delete(key: string): KubernetesObject | undefined {
    const before = this.#objects.get(key);
    this.#objects.delete(key);
    return before;
  }
}

/** What waits for a database that is down must not fill the memory. */
const HELD_BYTES = 64 * 1024 * 1024;
/** For an object of unknown size. */
const GUESSED_BYTES = 4096;
/** With more objects than this before it, an object will wait long enough for its memory to matter. */
const QUEUE = 256;

interface Entry {
  uid: string;
  resourceVersion: string;
  /** The whole object, until it is released. */
  held: KubernetesObject | undefined;
}

/**
 * Keeps identities, and whole objects only until they are released, while there is room for them; stores may share it. A
 * handler that has dealt with an object releases it; what it needs later it reads from the API server. An idle cluster
 * then costs a few hundred bytes an object.
 */
export class IdentityStore implements ObjectStore {
  readonly #entries = new Map<string, Entry>();
  readonly #room: ByteBudget;
  #heldCount = 0;

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

  *values(): Iterable<KubernetesObject> {
    for (const [key, entry] of this.#entries) yield entry.held ?? stub(key, entry);
  }

  latest(key: string): KubernetesObject | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : (entry.held ?? stub(key, entry));
  }

  /** The whole object, or undefined once it was let go or where there is none: ask `has`. */
  get(key: string): KubernetesObject | undefined {
    return this.#entries.get(key)?.held;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  identity(key: string): StoredIdentity | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : { uid: entry.uid, resourceVersion: entry.resourceVersion };
  }

  /** What was there before has only its identity where the whole object was released. */
  set(object: KubernetesObject): KubernetesObject | undefined {
    const key = objectKey(object);
    const { uid, resourceVersion } = identityOf(object);
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      const added: Entry = { uid, resourceVersion, held: undefined };
      this.#entries.set(key, added);
      this.#hold(added, object);
      return undefined;
    }
    const before = entry.held ?? stub(key, entry);
    // A new list repeats what was dealt with long ago; only what changed is held.
    if (entry.uid === uid && entry.resourceVersion === resourceVersion) return before;
    this.#letGo(entry);
    entry.uid = uid;
    entry.resourceVersion = resourceVersion;
    this.#hold(entry, object);
    return before;
  }

  delete(key: string): KubernetesObject | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const before = entry.held ?? stub(key, entry);
    this.#entries.delete(key);
    this.#letGo(entry);
    return before;
  }

  /** Forgets the whole object, unless a newer state has arrived meanwhile. */
  release(key: string, resourceVersion: string): void {
    const entry = this.#entries.get(key);
    if (entry?.resourceVersion === resourceVersion) this.#letGo(entry);
  }

  /** Forgets all whole objects, so that each is read anew. */
  releaseAll(): void {
    for (const entry of this.#entries.values()) this.#letGo(entry);
  }

  #hold(entry: Entry, object: KubernetesObject): void {
    const received = bytesOf(object);
    if (!this.#room.tryTake(received)) return;
    if (this.#heldCount >= QUEUE) {
      compact(object);
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

function bytesOf(object: KubernetesObject): number {
  return receivedBytes(object) ?? GUESSED_BYTES;
}

function stub(key: string, { uid, resourceVersion }: Entry): KubernetesObject {
  const slash = key.indexOf('/');
  const metadata = { namespace: key.slice(0, slash), name: key.slice(slash + 1), uid, resourceVersion };
  return { apiVersion: '', kind: '', metadata };
}
