// Sources bring events into a controller's queue. Each carries its own handler and predicates.

import { isAborted, onAbort, untilAborted } from '../base/abort.ts';
import { type Clock, sleep, waitUntil } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { HandlerRegistration, Informs, ResourceHandler } from '../kube/handler.ts';
import { Delivery, type DeliveryOptions } from './delivery.ts';
import { CacheSyncTimeoutError } from './errors.ts';
import type { EventHandler, EventQueue } from './handler.ts';
import type { Predicate } from './predicate.ts';

export interface SourceContext {
  readonly queue: EventQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Source {
  /** For logs and errors. */
  readonly name: string;
  /** Must not block. Whatever it starts ends with the signal. */
  start(context: SourceContext, signal: AbortSignal): void | Promise<void>;
  /** Resolves when the handler was given everything that existed at the start, or when the signal is aborted. */
  waitForSync?(signal: AbortSignal): Promise<void>;
}

interface Delivering {
  readonly name: string;
  readonly handler: EventHandler;
  readonly predicates?: readonly Predicate[];
  /** Called before objects of the initial list come to the predicates. */
  readonly prepare?: ResourceHandler['prepare'];
}

export interface KindSourceOptions extends Delivering {
  /** Undefined as long as there is none, for example because the kind is not installed. */
  readonly informer: () => Informs | undefined;
}

const INFORMER_RETRY_MS = 10_000;
const SYNC_POLL_MS = 20;

/** The objects of one kind, from an informer. Synced when *this* handler has the whole initial list. */
export function kindSource(options: KindSourceOptions): Source {
  const registered = Promise.withResolvers<HandlerRegistration | undefined>();
  let poll: Clock | undefined;
  return {
    name: options.name,
    start: (context, signal) => {
      poll = context.clock;
      const delivery = new Delivery({ ...context, ...deliveryOf(options) });
      void registerWhenPossible(options, delivery, { context, signal }).then((registration) => {
        registered.resolve(registration);
        onAbort(signal, () => {
          registration?.remove();
          delivery.close();
        });
      });
    },
    waitForSync: async (signal) => {
      const registration = await Promise.race([registered.promise, untilAborted(signal)]);
      if (poll === undefined || registration === undefined) return;
      await waitUntil({ clock: poll, periodMs: SYNC_POLL_MS, signal }, () => registration.synced);
    },
  };
}

async function registerWhenPossible(
  { name, informer }: KindSourceOptions,
  delivery: Delivery,
  { context, signal }: { readonly context: SourceContext; readonly signal: AbortSignal },
): Promise<HandlerRegistration | undefined> {
  for (let found = informer(); !isAborted(signal); found = informer()) {
    if (found !== undefined) return found.addHandler(delivery);
    context.logger.info({ source: name }, 'There is no informer yet; asking again');
    await sleep(context.clock, INFORMER_RETRY_MS, signal);
  }
  return undefined;
}

/** A source that is one function. */
export function sourceFunc(name: string, start: Source['start']): Source {
  return { name, start };
}

function deliveryOf({
  name,
  handler,
  predicates = [],
  prepare,
}: Delivering): Pick<DeliveryOptions, 'source' | 'handler' | 'predicates' | 'prepare'> {
  return { source: name, handler, predicates, prepare };
}

export interface StartOptions {
  /** Name of the controller, for the error. */
  readonly controller: string;
  /** Infinity waits as long as it takes. */
  readonly timeoutMs: number;
}

/**
 * Starts the source and waits until it is synced. Throws CacheSyncTimeoutError when that takes too long. When the signal
 * is aborted meanwhile it just returns: a stop is no failure.
 */
export async function startSource(
  source: Source,
  context: SourceContext,
  options: StartOptions,
  signal: AbortSignal,
): Promise<void> {
  const { controller, timeoutMs } = options;
  // Everything that waits here listens to this signal, so that no listener stays on the long-lived one.
  const waiting = new AbortController();
  const stop = (): void => waiting.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let phase: 'blocks' | 'not-synced' = 'blocks';
  const late = Promise.withResolvers<never>();
  const expire = (): void => late.reject(new CacheSyncTimeoutError(controller, source.name, phase));
  const cancel = Number.isFinite(timeoutMs) ? context.clock.schedule(timeoutMs, expire) : undefined;
  const steps = async (): Promise<void> => {
    await source.start(context, signal);
    phase = 'not-synced';
    await source.waitForSync?.(waiting.signal);
  };
  try {
    await Promise.race([steps(), late.promise, untilAborted(waiting.signal)]);
  } finally {
    cancel?.();
    signal.removeEventListener('abort', stop);
    stop();
  }
}
