import { type KubernetesObject, objectKey } from '../api/object.ts';
import { ByteBudget } from '../base/byte-budget.ts';
import { receivedBytes } from './lazy-object.ts';

/** Names the values under which an object is found, e.g. the names of its owners. */
export type Indexer = (object: KubernetesObject) => readonly string[];

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
  values(): Iterable<KubernetesObject>;
}

/** Keeps whole objects, and finds them by the values of its indexes. */
export class FullStore implements ObjectStore {
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #indexers: Readonly<Record<string, Indexer>>;
  readonly #indexes = new Map<string, Map<string, Set<string>>>();

  constructor(indexers: Readonly<Record<string, Indexer>> = {}) {
    this.#indexers = indexers;
    for (const name of Object.keys(indexers)) this.#indexes.set(name, new Map());
  }

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

  identity(key: string): StoredIdentity | undefined {
    return this.#objects.get(key)?.metadata;
  }

  set(object: KubernetesObject): KubernetesObject | undefined {
    const key = objectKey(object);
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#reindex(key, before, object);
    return before;
  }

  delete(key: string): KubernetesObject | undefined {
    const before = this.#objects.get(key);
    this.#objects.delete(key);
    this.#reindex(key, before, undefined);
    return before;
  }

  /** Objects whose index has this value; none for an index that was not declared. */
  byIndex(index: string, value: string): readonly KubernetesObject[] {
    const keys = this.#indexes.get(index)?.get(value) ?? [];
    return [...keys].map((key) => this.#objects.get(key)).filter((object) => object !== undefined);
  }

  /** Values that an object has in the index at present. */
  valuesOf(index: string): Iterable<string> {
    return this.#indexes.get(index)?.keys() ?? [];
  }

  #reindex(key: string, before: KubernetesObject | undefined, after: KubernetesObject | undefined): void {
    for (const [name, values] of this.#indexes) {
      const indexer = this.#indexers[name];
      if (indexer === undefined) continue;
      for (const value of before === undefined ? [] : indexer(before)) removeFrom(values, value, key);
      for (const value of after === undefined ? [] : indexer(after)) addTo(values, value, key);
    }
  }
}

function addTo(values: Map<string, Set<string>>, value: string, key: string): void {
  const keys = values.get(value);
  if (keys === undefined) values.set(value, new Set([key]));
  else keys.add(key);
}

function removeFrom(values: Map<string, Set<string>>, value: string, key: string): void {
  const keys = values.get(value);
  keys?.delete(key);
  if (keys?.size === 0) values.delete(value);
}

/** What waits for a database that is down must not fill the memory. */
const HELD_BYTES = 64 * 1024 * 1024;
/** Of an object whose size nobody knows. */
const GUESSED_BYTES = 4096;

/**
 * Keeps identities, and whole objects only until they are released, while there is room for them; stores may share it. A
 * handler that has dealt with an object releases it; what it needs later it reads from the API server. An idle cluster
 * then costs a few hundred bytes an object.
 */
export class IdentityStore implements ObjectStore {
  /** uid and resourceVersion in one string: half the memory of an object with two. */
  readonly #identities = new Map<string, string>();
  readonly #held = new Map<string, KubernetesObject>();
  readonly #room: ByteBudget;

  constructor(room: ByteBudget = new ByteBudget(HELD_BYTES)) {
    this.#room = room;
  }

  get size(): number {
    return this.#identities.size;
  }

  /** Whole objects that nobody has released yet. */
  get heldCount(): number {
    return this.#held.size;
  }

  keys(): IterableIterator<string> {
    return this.#identities.keys();
  }

  *values(): Iterable<KubernetesObject> {
    for (const key of this.#identities.keys()) {
      const object = this.#held.get(key) ?? this.#stub(key);
      if (object !== undefined) yield object;
    }
  }

  /** The whole object, or undefined once it was let go or where there is none: ask `has`. */
  get(key: string): KubernetesObject | undefined {
    return this.#held.get(key);
  }

  has(key: string): boolean {
    return this.#identities.has(key);
  }

  identity(key: string): StoredIdentity | undefined {
    const identity = this.#identities.get(key);
    return identity === undefined ? undefined : unpacked(identity);
  }

  /** What was there before has only its identity where the whole object was released. */
  set(object: KubernetesObject): KubernetesObject | undefined {
    const key = objectKey(object);
    const known = this.#identities.get(key);
    const before = known === undefined ? undefined : (this.#held.get(key) ?? stub(key, known));
    const identity = packed(object);
    // A new list repeats what was dealt with long ago; only what changed is held.
    if (known === identity) return before;
    this.#identities.set(key, identity);
    this.#letGo(key);
    if (this.#room.tryTake(bytesOf(object))) this.#held.set(key, object);
    return before;
  }

  delete(key: string): KubernetesObject | undefined {
    const before = this.#held.get(key) ?? this.#stub(key);
    this.#identities.delete(key);
    this.#letGo(key);
    return before;
  }

  /** Forgets the whole object, unless a newer state has arrived meanwhile. */
  release(key: string, resourceVersion: string): void {
    if (this.#held.get(key)?.metadata.resourceVersion === resourceVersion) this.#letGo(key);
  }

  #letGo(key: string): void {
    const object = this.#held.get(key);
    if (object === undefined) return;
    this.#held.delete(key);
    this.#room.give(bytesOf(object));
  }

  #stub(key: string): KubernetesObject | undefined {
    const identity = this.#identities.get(key);
    return identity === undefined ? undefined : stub(key, identity);
  }
}

function bytesOf(object: KubernetesObject): number {
  return receivedBytes(object) ?? GUESSED_BYTES;
}

function stub(key: string, identity: string): KubernetesObject {
  const slash = key.indexOf('/');
  const name = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
  return { apiVersion: '', kind: '', metadata: { ...name, ...unpacked(identity) } };
}

function packed({ metadata }: KubernetesObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

function unpacked(identity: string): StoredIdentity {
  const space = identity.indexOf(' ');
  return { uid: identity.slice(0, space), resourceVersion: identity.slice(space + 1) };
}
