import { type KubernetesObject, objectKey } from '../api/object.ts';
import type { ResourceHandler } from '../kube/handler.ts';

/** What was last known of an object that left the API server. */
export interface Departed {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Of one kind, while their rows cannot be ended; the audit finds the others. */
const MOST_KEYS = 10_000;

/**
 * Objects of one kind that left the API server without this process having stored their final state: they were
 * unguarded, or somebody took the finalizer off by hand. Their rows would stay alive for ever. Nothing is noted before
 * `begin`: whoever takes over compares MySQL with the cluster first, so a standby need not remember who left.
 */
export class Departures implements ResourceHandler {
  readonly #departed = new Map<string, Departed[]>();
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

  /** Whether `take` may answer anybody. */
  has(key: string): boolean {
    return this.#departed.has(key);
  }

  /** Who left under this key since the last call, without those whose final state is stored. */
  take(key: string): readonly Departed[] {
    const departed = this.#departed.get(key);
    if (departed === undefined) return [];
    this.#departed.delete(key);
    return departed.filter(({ uid }) => !this.#finished.delete(uid));
  }

  /** Puts back what could not be dealt with. */
  putBack(key: string, departed: readonly Departed[]): void {
    if (departed.length === 0) return;
    this.#departed.set(key, [...departed, ...(this.#departed.get(key) ?? [])]);
  }

  add(): void {
    // Whoever is there has not left.
  }

  update(): void {
    // Whoever is there has not left.
  }

  delete({ metadata }: KubernetesObject): void {
    const { uid, resourceVersion } = metadata;
    if (!this.#noting) return;
    const key = objectKey({ metadata });
    this.#departed.set(key, [...(this.#departed.get(key) ?? []), { uid, resourceVersion }]);
    if (this.#departed.size > MOST_KEYS) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const [oldest] = this.#departed.keys();
    if (oldest === undefined) return;
    this.take(oldest);
    this.#onForgotten();
  }
}
