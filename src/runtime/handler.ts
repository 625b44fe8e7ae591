// Handlers turn events into keys. They run synchronously while the event is delivered and must do nothing but enqueue.
import { isJsonObject } from '../base/json.ts';
import type { KnownObject, WatchedObject } from '../kube/watched-object.ts';
import { type AddOptions, LOW_PRIORITY } from './work-queue.ts';

/** The side of the queue that handlers see. */
export interface EventQueue {
  add(key: string, options?: AddOptions): void;
}

export interface EventHandler {
  create(event: CreateEvent, queue: EventQueue): void;
  update(event: UpdateEvent, queue: EventQueue): void;
  delete(event: DeleteEvent, queue: EventQueue): void;
}

/** Gives every plain add low priority; a priority that a handler states itself wins. */
function unhurried(queue: EventQueue): EventQueue {
  return { add: (key, options) => queue.add(key, { priority: LOW_PRIORITY, ...options }) };
}

/** One for all events of a queue. */
const unhurriedQueues = new WeakMap<EventQueue, EventQueue>();

function withLowPriority(queue: EventQueue): EventQueue {
  const known = unhurriedQueues.get(queue);
  if (known !== undefined) return known;
  const low = unhurried(queue);
  unhurriedQueues.set(queue, low);
  return low;
}

/**
 * Low priority for events that say nothing new: objects of the initial list, and updates with the same resourceVersion
 * on both sides. So a start with many objects does not delay what happens now. All handlers below have it.
 */
export function lowPriorityWhenUnchanged(handler: EventHandler): EventHandler {
  return {
    create: (event, queue) => handler.create(event, event.initial ? withLowPriority(queue) : queue),
    update: (event, queue) => handler.update(event, isUnchanged(event) ? withLowPriority(queue) : queue),
    delete: (event, queue) => handler.delete(event, queue),
  };
}

function isUnchanged({ before, after }: UpdateEvent): boolean {
  return before.identity.resourceVersion === after.identity.resourceVersion;
}

export type MapFunction = (object: KnownObject) => Iterable<string>;

/** Enqueues the keys that the function gives for the object; for an update for both states, each key once. */
export function enqueueMapped(map: MapFunction): EventHandler {
  const enqueue = (queue: EventQueue, ...objects: readonly KnownObject[]): void => {
    const keys = new Set<string>();
    for (const object of objects) for (const key of map(object)) keys.add(key);
    for (const key of keys) queue.add(key);
  };
  return lowPriorityWhenUnchanged({
    create: ({ object }, queue) => enqueue(queue, object),
    update: ({ before, after }, queue) => enqueue(queue, before, after),
    delete: ({ object }, queue) => enqueue(queue, object),
  });
}

/** Enqueues the object of the event itself. */
export function enqueueForObject(): EventHandler {
  return lowPriorityWhenUnchanged({
    create: ({ object }, queue) => queue.add(object.key),
    update: ({ after }, queue) => queue.add(after.key),
    delete: ({ object }, queue) => queue.add(object.key),
  });
}

export interface OwnerOptions {
  /** Group and kind of the owner; its version is not compared, because it changes with the owner's writers. */
  readonly group: string;
  readonly kind: string;
}

/**
 * Enqueues the owner that is marked as controller, in the namespace of the object; after an update the former, too. For
 * stores that let no object go: nothing says what owned it then.
 */
export function enqueueForOwner(options: OwnerOptions): EventHandler {
  return enqueueMapped((object) => ownerKeys(object, options));
}

function* ownerKeys({ watched }: KnownObject, options: OwnerOptions): Generator<string> {
  if (watched === undefined) return;
  const { metadata } = watched.parse();
  const references: unknown = metadata['ownerReferences'];
  if (!Array.isArray(references)) return;
  for (const reference of references as readonly unknown[]) {
    if (!isJsonObject(reference) || typeof reference['name'] !== 'string' || !matches(reference, options)) continue;
    yield `${metadata.namespace}/${reference['name']}`;
  }
}

function matches(reference: Readonly<Record<string, unknown>>, { group, kind }: OwnerOptions): boolean {
  const apiVersion = String(reference['apiVersion']);
  const slash = apiVersion.indexOf('/');
  const ownerGroup = slash === -1 ? '' : apiVersion.slice(0, slash);
  return ownerGroup === group && reference['kind'] === kind && reference['controller'] === true;
}

export interface CreateEvent {
  readonly object: KnownObject;
  /** Part of the initial list, so not necessarily new. */
  readonly initial: boolean;
}

export interface UpdateEvent {
  readonly before: KnownObject;
  readonly after: WatchedObject;
}

export interface DeleteEvent {
  /** The last state that was known. */
  readonly object: KnownObject;
  /** The removal itself was not seen, so the last state was not necessarily seen either. */
  readonly finalStateUnknown: boolean;
}
