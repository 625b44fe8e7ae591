import type { ResourceHandler } from '../../kube/handler.ts';
import { isNewer } from '../../kube/resource-version.ts';
import type { KnownObject, WatchedObject } from '../../kube/watched-object.ts';
import type { MissedDelete } from '../../storage/metadata-storage.ts';
import type { Release } from '../flows/lost-races.ts';

/** Of one kind, while their rows cannot be ended; the audit finds the others. */
const MOST_KEYS = 10_000;
/** Of last states that wait for MySQL; those beyond it are forgotten. */
const MOST_BYTES = 8 * 1024 * 1024;

/** An object that left. */
export interface Left extends MissedDelete {
  /** Whether a final state is stored. */
  readonly finished: boolean;
  /** The state it left with, where MySQL may not have it: it came after the final state, or none is stored. */
  readonly last?: WatchedObject;
}

interface Finished {
  /** Of the final state that is stored. */
  readonly resourceVersion: string;
  /** The latest that the watch has shown. */
  newest: string;
}

/**
 * Objects of one kind that left the API server without this process having stored their final state: they were
 * unguarded, or a user took the finalizer off by hand. Their rows would stay alive for ever. Nothing is noted before
 * `begin`: a replica that takes over compares MySQL with the cluster first, so a standby need not note them.
 *
 * Users take the finalizer off where a deletion waits, as it does while MySQL is away, and a replacement that does not list
 * it does so too: then the watch is the only one that has the final state, and maybe the object.
 *
 * An object may also leave with a state that is newer than the one that was stored when its finalizer came off. The API
 * server first looks whether a patch takes the last finalizer off, with the `test` of its version, and then deletes the
 * object whatever has become of it: a change in between is answered with success, and only the watch tells it.
 */
export class MissedDeletes implements ResourceHandler {
  readonly #left = new Map<string, Left[]>();
  /** By uid, those whose final state is stored and that have not left yet. */
  readonly #finished = new Map<string, Finished>();
  #lastBytes = 0;
  /** By uid, the object that is let go with a later state than is stored. */
  #letGo: string | undefined;
  readonly #onForgotten: () => void;
  #noting = false;

  /** Told of each key, and each last state, that is forgotten because there are too many. */
  constructor(onForgotten: () => void = () => undefined) {
    this.#onForgotten = onForgotten;
  }

  /** This process does the work from now on. */
  begin(): void {
    this.#noting = true;
  }

  /** This final state of the object is in MySQL, or will be. To be called before its finalizer comes off. */
  noteFinished({ uid, resourceVersion }: MissedDelete): void {
    this.#finished.set(uid, { resourceVersion, newest: this.#finished.get(uid)?.newest ?? resourceVersion });
  }

  /**
   * Lets an object leave that is changed meanwhile, where there is room for the state that it leaves with: one at a time, so
   * that none is forgotten. Gives whether it was let go.
   */
  async letGo(uid: string, release: Release): Promise<boolean> {
    if (this.#letGo !== undefined || this.#lastBytes > MOST_BYTES / 2) return false;
    this.#letGo = uid;
    try {
      if ((await release()) === 'held' && this.#letGo === uid) this.#letGo = undefined;
      return true;
    } catch (error) {
      if (this.#letGo === uid) this.#letGo = undefined;
      throw error;
    }
  }

  /** Whether `take` may give an object. */
  has(key: string): boolean {
    return this.#left.has(key);
  }

  /** The objects that left under this key since the last call, without those whose final state is stored. */
  take(key: string): readonly Left[] {
    const left = this.#left.get(key) ?? [];
    this.#left.delete(key);
    for (const { last } of left) this.#lastBytes -= last?.bytes ?? 0;
    return left
      .map((each) => ({ ...each, finished: each.finished || this.#finished.delete(each.uid) }))
      .filter(({ finished, last }) => !finished || last !== undefined);
  }

  /** Puts back what could not be dealt with. */
  putBack(key: string, left: readonly Left[]): void {
    if (left.length === 0) return;
    for (const { last } of left) this.#lastBytes += last?.bytes ?? 0;
    this.#left.set(key, [...left, ...(this.#left.get(key) ?? [])]);
  }

  add(): void {
    // The object is there: not deleted.
  }

  update(_: KnownObject, { identity: { uid, resourceVersion } }: WatchedObject): void {
    const finished = this.#finished.get(uid);
    if (finished !== undefined && isNewer(resourceVersion, finished.newest)) finished.newest = resourceVersion;
  }

  delete(object: KnownObject): void {
    if (!this.#noting) return;
    const { key, identity } = object;
    const { uid, resourceVersion } = identity;
    if (this.#letGo === uid) this.#letGo = undefined;
    const finished = this.#finished.get(uid);
    const isChanged = finished === undefined ? wasHeld(object) : isNewer(finished.newest, finished.resourceVersion);
    const last = isChanged ? this.#kept(object) : undefined;
    const left = { uid, resourceVersion, finished: false, ...(last && { last }) };
    this.#left.set(key, [...(this.#left.get(key) ?? []), left]);
    if (this.#left.size > MOST_KEYS) this.#forgetOldest();
  }

  #kept({ watched }: KnownObject): WatchedObject | undefined {
    const bytes = watched?.bytes ?? 0;
    if (this.#lastBytes + bytes > MOST_BYTES) {
      this.#onForgotten();
      return undefined;
    }
    this.#lastBytes += bytes;
    watched?.compact();
    return watched;
  }

  #forgetOldest(): void {
    const [oldest] = this.#left.keys();
    if (oldest === undefined) return;
    this.take(oldest);
    this.#onForgotten();
  }
}

/** Whether a finalizer held it: what has none leaves at once, without a time of its deletion. */
function wasHeld({ watched }: KnownObject): boolean {
  return watched?.marks().deletionTimestamp !== undefined;
}
