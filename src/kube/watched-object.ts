// An object as lists and watches bring it, before it is parsed. Most events only say that a key must be looked at again:
// for that its identity is enough, and parsing the rest is the largest part of what an event costs.
import { type Identity, type KubernetesObject, type Marks, objectKey } from '../api/object.ts';

/** What a store knows of an object: the object itself only until it is let go. */
export interface KnownObject {
  readonly identity: Identity;
  /** `namespace/name`, or `/name` for cluster-scoped objects. */
  readonly key: string;
  readonly watched: WatchedObject | undefined;
}

export interface WatchedObject extends KnownObject {
  readonly watched: WatchedObject;
  /** Its place in the order in which this process has received objects; see `arrivals`. */
  readonly arrival: number;
  /** Length of what is kept of it; undefined where that is not known. */
  readonly bytes: number | undefined;
  /** What the metadata have of them, read without parsing the rest: of thousands that wait, parsed ones would fill the memory. */
  marks(): Marks;
  /**
   * The object without `metadata.managedFields`. Parsed for each caller and not kept, so that it is freed with the
   * caller's reference. Throws where it is no JSON.
   */
  parse(): KubernetesObject;
  /** For an object that will wait: it arrived in one piece of memory with others, which stays as long as any of them. */
  compact(): void;
}

let received = 0;

/**
 * How many objects this process has received. What is asked now is answered by a state that is later than that of each object
 * up to this one.
 */
export const arrivals = (): number => received;

/** For each object that is received, once. */
export function nextArrival(): number {
  received += 1;
  return received;
}

class ParsedObject implements WatchedObject {
  readonly identity: Identity;
  readonly key: string;
  readonly arrival = nextArrival();
  readonly bytes: undefined;
  readonly #object: KubernetesObject;

  constructor(object: KubernetesObject) {
    this.identity = object.metadata;
    this.key = objectKey(object);
    this.#object = object;
  }

  get watched(): this {
    return this;
  }

  marks(): Marks {
    return this.#object.metadata;
  }

  parse(): KubernetesObject {
    return this.#object;
  }

  compact(): void {
    // There are no bytes to copy.
  }
}

/** For an object that was parsed already. */
export function asWatched(object: KubernetesObject): WatchedObject;
export function asWatched(object: KubernetesObject | undefined): WatchedObject | undefined;
export function asWatched(object: KubernetesObject | undefined): WatchedObject | undefined {
  return object === undefined ? undefined : new ParsedObject(object);
}
