import type { ResourceHandler } from '../../kube/handler.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
import type { MissedDelete } from '../../storage/metadata-storage.ts';

/** Of one kind, while their rows cannot be ended; the audit finds the others. */
const MOST_KEYS = 10_000;

/**
 * Objects of one kind that left the API server without this process having stored their final state: they were
 * unguarded, or a user took the finalizer off by hand. Their rows would stay alive for ever. Nothing is noted before
 * `begin`: a replica that takes over compares MySQL with the cluster first, so a standby need not note them.
 */
export class MissedDeletes implements ResourceHandler {
  readonly #missed = new Map<string, MissedDelete[]>();
  /** uids whose final state is stored and that have not left yet. */
  readonly #finished = new Set<string>();
  readonly #onForgotten: () => void;
  #noting = false;

  /** Told of each key that is forgotten because there are too many. */
  constructor(onForgotten: () => void = () => undefined) {
    this.#onForgotten = onForgotten;
  }

  /** This process does the work from now on. */
  begin(): void {
    this.#noting = true;
  }

  /** The final state of this object is in MySQL. */
  noteFinished(uid: string): void {
    this.#finished.add(uid);
  }

  /** Whether `take` may give an object. */
  has(key: string): boolean {
    return this.#missed.has(key);
  }

  /** The objects that left under this key since the last call, without those whose final state is stored. */
  take(key: string): readonly MissedDelete[] {
    const missed = this.#missed.get(key);
    if (missed === undefined) return [];
    this.#missed.delete(key);
    return missed.filter(({ uid }) => !this.#finished.delete(uid));
  }

  /** Puts back what could not be dealt with. */
  putBack(key: string, missed: readonly MissedDelete[]): void {
    if (missed.length === 0) return;
    this.#missed.set(key, [...missed, ...(this.#missed.get(key) ?? [])]);
  }

  add(): void {
    // The object is there: not deleted.
  }

  update(): void {
    // The object is there: not deleted.
  }

  delete({ key, identity: { uid, resourceVersion } }: KnownObject): void {
    if (!this.#noting) return;
    this.#missed.set(key, [...(this.#missed.get(key) ?? []), { uid, resourceVersion }]);
    if (this.#missed.size > MOST_KEYS) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const [oldest] = this.#missed.keys();
    if (oldest === undefined) return;
    this.take(oldest);
    this.#onForgotten();
  }
}
