// Lists and watches one resource for ever and hands on what it sees, in order.
//
//            ┌────────────── refused: not supported ──────────────┐
//            ▼                                                    │
//   paged list ──▶ watch ◀── initial events end ── streaming list ┤  every list starts here
//       │            │                                            │
//       │            ├─ clean end, 429, 5xx, broken stream: watch again from the last version, after backoff
//       │            └─ version expired, or anything unknown: list again
//       └─ failed: backoff, list again
//
// The version advances only after the sink took the event, so a stream that breaks anywhere never skips one. What a
// list shows is applied at once; what it no longer shows is removed only when the list is complete.
import { identityOf, type KubernetesObject } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource, Selection, WatchEvent, WatchOptions } from './client.ts';
import { isKubeError, KubeError } from './errors.ts';
import { isNewer } from './resource-version.ts';

/** Takes what the reflector sees. Calls are synchronous, except the end of a list. */
export interface ReflectorSink {
  listStarts(): void;
  listed(object: KubernetesObject): void;
  /** The list shows this version. Everything that was not listed since `listStarts` is gone. */
  listEnds(resourceVersion: string): Promise<void>;
  changed(object: KubernetesObject): void;
  removed(object: KubernetesObject): void;
  /** The API server does not know the resource; called at every try. */
  notInstalled(): void;
}

export interface ReflectorOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly sink: ReflectorSink;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly selection?: Selection;
  readonly metadataOnly?: boolean;
  /** Longest time without a byte before a watch counts as dead; see WatchOptions. */
  readonly silenceMs?: number;
  readonly random?: () => number;
}

const PAGE_SIZE = 500;
/** Watches end after this long and start again, at different times. */
const MIN_WATCH_SECONDS = 300;
/** A watch that ends sooner, and empty, counts as a failure. */
const SHORT_WATCH_MS = 1000;
const backoff = { baseMs: 800, capMs: 30_000, jitter: 1 };
/** Without trouble for this long, the backoff starts from the beginning. */
const BACKOFF_RESET_MS = 120_000;
const NOT_INSTALLED_WAIT_MS = 2000;
/** How often a streaming list that goes on is worth a warning. */
const LIST_WARNING_MS = 10_000;

type WatchEnd = 'watch-again' | 'list-again';

export class Reflector {
  readonly #options: ReflectorOptions;
  #resourceVersion = '';
  #streamingSupported = true;
  #failures = 0;
  #lastFailureMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  /** Version up to which the sink has seen everything; empty before the first list ended. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Runs until aborted. Never rejects for anything the API server or the network does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      try {
        let end = await this.#listAndWatch(signal);
        while (!isAborted(signal) && end === 'watch-again') end = await this.#watch(signal);
      } catch (error) {
        if (!isAborted(signal)) await this.#recover(error, signal);
      }
    }
  }

  /** One list, and with a streaming list the watch that goes on from it. */
  async #listAndWatch(signal: AbortSignal): Promise<WatchEnd> {
    if (this.#streamingSupported) {
      try {
        return await this.#streamingList(signal);
      } catch (error) {
        if (!isKubeError(error, 'Invalid')) throw error;
        this.#streamingSupported = false;
      }
    }
    await this.#pagedList(signal);
    return 'watch-again';
  }

  async #streamingList(signal: AbortSignal): Promise<WatchEnd> {
    const { sink } = this.#options;
    const stream = this.#stream({ resourceVersion: '', sendInitialEvents: true }, signal);
    sink.listStarts();
    let listing = true;
    const stopWarning = this.#warnWhileListing();
    try {
      for await (const arrived of stream) {
        for (const event of arrived) {
          if (listing && event.type === 'BOOKMARK' && event.initialEventsEnd) {
            await sink.listEnds(event.resourceVersion);
            this.#resourceVersion = event.resourceVersion;
            listing = false;
            stopWarning();
          } else if (listing && event.type !== 'BOOKMARK' && event.type !== 'DELETED') {
            sink.listed(event.object);
          } else {
            this.#take(event, listing);
          }
        }
      }
    } catch (error) {
      if (listing) throw error;
      return await this.#afterBrokenWatch(error, signal);
    } finally {
      stopWarning();
    }
    if (listing) throw new KubeError('Unavailable', 'The streaming list ended before all objects were sent');
    return 'watch-again';
  }

  /** Says so, again and again, while the end of a streaming list is not in sight. The returned function ends that. */
  #warnWhileListing(): () => void {
    const { clock, logger, resource } = this.#options;
    const started = clock.monotonicMs();
    const warn = (): void => {
      const seconds = Math.round((clock.monotonicMs() - started) / 1000);
      logger.warn({ resource: resource.plural, seconds }, 'The streaming list has not ended yet');
      cancel = clock.schedule(LIST_WARNING_MS, warn);
    };
    let cancel = clock.schedule(LIST_WARNING_MS, warn);
    return () => cancel();
  }

  async #pagedList(signal: AbortSignal): Promise<void> {
    const { client, resource, sink, selection = {}, metadataOnly = false } = this.#options;
    sink.listStarts();
    let continueToken: string | undefined;
    let resourceVersion: string;
    do {
      const page = { limit: PAGE_SIZE, metadataOnly, ...(continueToken === undefined ? {} : { continueToken }) };
      const { items, ...rest } = await client.list(resource, { ...selection, ...page }, signal);
      for (const item of items) sink.listed(item);
      ({ continueToken, resourceVersion } = rest);
    } while (continueToken !== undefined);
    await sink.listEnds(resourceVersion);
    this.#resourceVersion = resourceVersion;
  }

  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    const { clock } = this.#options;
    const started = clock.monotonicMs();
    let events = 0;
    try {
      for await (const arrived of this.#stream({ resourceVersion: this.#resourceVersion }, signal)) {
        events += arrived.length;
        for (const event of arrived) this.#take(event, false);
      }
    } catch (error) {
      return await this.#afterBrokenWatch(error, signal);
    }
    // A server that closes at once, again and again, must not be asked in a tight loop.
    if (events === 0 && clock.monotonicMs() - started < SHORT_WATCH_MS) await this.#wait(signal, undefined);
    return 'watch-again';
  }

  #stream(
    from: Pick<WatchOptions, 'resourceVersion' | 'sendInitialEvents'>,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent[]> {
    const { client, resource, selection = {}, metadataOnly = false, silenceMs, random = Math.random } = this.#options;
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS * (1 + random()));
    const liveness = silenceMs === undefined ? {} : { silenceMs };
    return client.watch(resource, { ...selection, ...from, timeoutSeconds, metadataOnly, ...liveness }, signal);
  }

  /** A removal during the initial events is one of an object that this list will not show. */
  #take(event: WatchEvent, listing: boolean): void {
    const { sink } = this.#options;
    switch (event.type) {
      case 'BOOKMARK':
        if (!listing) this.#advance(event.resourceVersion);
        return;
      case 'DELETED':
        sink.removed(event.object);
        break;
      case 'ADDED':
      case 'MODIFIED':
        sink.changed(event.object);
    }
    if (!listing) this.#advance(identityOf(event.object).resourceVersion);
  }

  /** What comes twice, or late, does not take it back. */
  #advance(resourceVersion: string): void {
    if (!isNewer(this.#resourceVersion, resourceVersion)) this.#resourceVersion = resourceVersion;
  }

  async #afterBrokenWatch(error: unknown, signal: AbortSignal): Promise<WatchEnd> {
    if (isAborted(signal)) return 'watch-again';
    const { logger, resource } = this.#options;
    if (isKubeError(error, 'Expired')) {
      logger.info({ resource: resource.plural }, 'The watch expired; listing again');
      return 'list-again';
    }
    const resumable = isKubeError(error, 'Unavailable') || isKubeError(error, 'TooManyRequests');
    if (!resumable) throw error;
    if (this.#isNews()) logger.info({ resource: resource.plural, err: error }, 'The watch broke; resuming it');
    await this.#wait(signal, error);
    return 'watch-again';
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { logger, resource, clock, sink } = this.#options;
    if (isKubeError(error, 'NotFound')) {
      sink.notInstalled();
      await sleep(clock, NOT_INSTALLED_WAIT_MS, signal);
      return;
    }
    // The version a page continues from is gone: start over at once, that is no failure of the server.
    if (isKubeError(error, 'Expired') && this.#isNews()) {
      this.#noteFailure();
      return;
    }
    if (this.#isNews()) logger.warn({ resource: resource.plural, err: error }, 'List failed; trying again');
    await this.#wait(signal, error);
  }

  async #wait(signal: AbortSignal, error: unknown): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#isNews();
    const delay = Math.max(asked, backoffMs(backoff, this.#failures, random));
    this.#noteFailure();
    await sleep(clock, delay, signal);
  }

  /** Whether this is the first failure in a while; forgets older ones. */
  #isNews(): boolean {
    if (this.#options.clock.monotonicMs() - this.#lastFailureMs > BACKOFF_RESET_MS) this.#failures = 0;
    return this.#failures === 0;
  }

  #noteFailure(): void {
    this.#failures += 1;
    this.#lastFailureMs = this.#options.clock.monotonicMs();
  }
}
