import type { KnownObject, WatchedObject } from './watched-object.ts';

/**
 * What an informer tells about the objects of one resource. Called synchronously and in order, after the local copy has
 * changed; a handler must only enqueue.
 */
export interface ResourceHandler {
  /** Called before each slice of the initial list is added; what happens to its objects meanwhile wins. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** `initial` while the first list is handed over, to this handler; late handlers get a first list of their own. */
  add(object: KnownObject, initial: boolean): void;
  /** With the same resourceVersion on both sides it is a repetition (resync or a new list), not a change. */
  update(before: KnownObject, after: WatchedObject): void;
  /** `finalStateUnknown`: the removal was seen in a list only; the object is the last state that was known. */
  delete(object: KnownObject, finalStateUnknown: boolean): void;
}

export interface HandlerRegistration {
  /** True once this handler was given the whole initial list. */
  readonly synced: boolean;
  remove(): void;
}

/** The part of an informer that sources need. */
export interface Informs {
  addHandler(handler: ResourceHandler): HandlerRegistration;
}
