// From an informer's call to a handler: predicates first, and no event is lost to an exception.
//
// A handler or predicate that throws is a mistake in it, but the key it would have enqueued must still be worked on. So
// the event is kept and delivered again, ever more slowly, until the handler takes it, and later events of the object
// wait behind it.
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ResourceHandler } from '../kube/handler.ts';
import type { KnownObject, WatchedObject } from '../kube/watched-object.ts';
import type { CreateEvent, DeleteEvent, EventHandler, EventQueue, UpdateEvent } from './handler.ts';
import { and, type Predicate } from './predicate.ts';

type Delivered =
  | { readonly type: 'create'; readonly event: CreateEvent }
  | { readonly type: 'update'; readonly event: UpdateEvent }
  | { readonly type: 'delete'; readonly event: DeleteEvent };

export interface DeliveryOptions {
  /** Of the source, for logs. */
  readonly source: string;
  readonly handler: EventHandler;
  readonly predicates: readonly Predicate[];
  readonly prepare?: ResourceHandler['prepare'];
  readonly queue: EventQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

const backoff = { baseMs: 1000, capMs: 60_000, jitter: 0 };

export class Delivery implements ResourceHandler {
  readonly prepare: ResourceHandler['prepare'];
  readonly #options: DeliveryOptions;
  readonly #predicate: Predicate;
  /** Events that wait for another attempt, by object, in order. */
  readonly #failed = new Map<string, Delivered[]>();
  #cancelRetry: (() => void) | undefined;
  #failures = 0;
  #closed = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.prepare = options.prepare;
    this.#predicate = and(...options.predicates);
  }

  add(object: KnownObject, initial: boolean): void {
    this.#deliver({ type: 'create', event: { object, initial } });
  }

  update(before: KnownObject, after: WatchedObject): void {
    this.#deliver({ type: 'update', event: { before, after } });
  }

  delete(object: KnownObject, finalStateUnknown: boolean): void {
    this.#deliver({ type: 'delete', event: { object, finalStateUnknown } });
  }

  /** Delivers nothing any more and leaves no timer. */
  close(): void {
    this.#closed = true;
    this.#failed.clear();
    this.#cancelRetry?.();
  }

  #deliver(delivered: Delivered): void {
    if (this.#closed) return;
    const { key } = objectOf(delivered);
    const kept = this.#failed.get(key);
    if (kept === undefined) this.#attempt(key, [delivered]);
    else appendMerged(kept, delivered);
  }

  /** Hands over the events of one object in order; keeps what is left from the first that fails. */
  #attempt(key: string, events: Delivered[]): void {
    for (const [index, delivered] of events.entries()) {
      try {
        this.#hand(delivered);
      } catch (error) {
        this.#keep(key, events.slice(index), error);
        return;
      }
    }
    this.#failed.delete(key);
  }

  #keep(key: string, events: Delivered[], error: unknown): void {
    const { logger, source } = this.#options;
    const level = this.#failed.has(key) ? 'debug' : 'error';
    logger[level]({ key, source, err: error }, 'An event handler failed; delivering again');
    this.#failed.set(key, events);
    this.#scheduleRetry();
  }

  #hand(delivered: Delivered): void {
    const { handler, queue } = this.#options;
    switch (delivered.type) {
      case 'create':
        if (this.#predicate.create(delivered.event)) handler.create(delivered.event, queue);
        return;
      case 'update':
        if (this.#predicate.update(delivered.event)) handler.update(delivered.event, queue);
        return;
      case 'delete':
        if (this.#predicate.delete(delivered.event)) handler.delete(delivered.event, queue);
    }
  }

  #scheduleRetry(): void {
    if (this.#cancelRetry !== undefined) return;
    this.#cancelRetry = this.#options.clock.schedule(backoffMs(backoff, this.#failures), () => this.#retry());
    this.#failures += 1;
  }

  #retry(): void {
    this.#cancelRetry = undefined;
    for (const [key, events] of [...this.#failed]) this.#attempt(key, events);
    if (this.#failed.size === 0) this.#failures = 0;
  }
}

function objectOf(delivered: Delivered): KnownObject {
  return delivered.type === 'update' ? delivered.event.after : delivered.event.object;
}

/** Of updates in a row one is kept, from the state before the first to the state after the last. */
function appendMerged(events: Delivered[], next: Delivered): void {
  const last = events.at(-1);
  if (last?.type !== 'update' || next.type !== 'update') events.push(next);
  else events[events.length - 1] = { type: 'update', event: { before: last.event.before, after: next.event.after } };
}
