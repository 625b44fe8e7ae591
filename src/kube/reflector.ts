// Lists and watches one resource for ever and hands on what it sees, in order.
//
//            ┌────────────── refused: not supported ──────────────┐
//            ▼                                                    │
//   paged list ──▶ watch ◀── initial events end ── streaming list ┤  every list starts here
//       │            │                                            │
//       │            ├─ clean end, 429, 5xx, broken stream: watch again from the last version, after backoff,
//       │            │  if the server still knows that version
//       │            └─ version expired, version gone back, nothing came at all, or anything unknown: list again
//       └─ failed: backoff, list again
//
// A server that was put back to an earlier state takes a watch from a version that it has not reached, and is silent.
// So before a watch is resumed the server is asked whether it still has what was seen (see SeenHistory), and a watch that
// brought nothing is not resumed.
//
// The version advances only after the sink took the event, so a stream that breaks anywhere never skips one. What a
// list shows is applied at once; what it no longer shows is removed only when the list is complete.
import { isAborted, onAbort } from '../base/abort.ts';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Watchdog, WatchedWork } from '../base/watchdog.ts';
import type { KubeClient, Resource, Selection, WatchEvent, WatchOptions } from './client.ts';
import { isKubeError, KubeError } from './errors.ts';
import { pagesOf } from './pages.ts';
import { isNewer } from './resource-version.ts';
import { SeenHistory } from './seen-history.ts';
import type { WatchedObject } from './watched-object.ts';

/** Takes what the reflector sees. Calls are synchronous, except the end of a list. */
export interface ReflectorSink {
  listStarts(): void;
  listed(object: WatchedObject): void;
  /** The list shows this version. Everything that was not listed since `listStarts` is gone. */
  listEnds(resourceVersion: string): Promise<void>;
  changed(object: WatchedObject): void;
  removed(object: WatchedObject): void;
  /** The API server does not know the resource; called at every try. */
  notInstalled(): void;
}

export interface ReflectorOptions {
  readonly client: Pick<KubeClient, 'list' | 'newest' | 'watch'>;
  readonly resource: Resource;
  readonly sink: ReflectorSink;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly selection?: Selection;
  /** Longest time without a byte before a watch counts as dead; see WatchOptions. */
  readonly silenceMs?: number;
  readonly random?: () => number;
  /** Told of every list and watch; it breaks off what is silent for too long. */
  readonly watchdog?: Pick<Watchdog, 'register'>;
  /** The server is at an earlier version than it was: it was restored from a backup. */
  readonly onWentBack?: (from: string, to: string) => void;
}

/** Watches end after this long and start again, at different times. */
const MIN_WATCH_SECONDS = 300;
/** A watch that ends sooner, and empty, counts as a failure. */
const SHORT_WATCH_MS = 1000;
const backoff = { baseMs: 800, capMs: 30_000, jitter: 1 };
/** A server that fails at once is down or starting: it costs nothing to ask it again soon, and it is back soon. */
const AT_ONCE_MS = 1000;
const AT_ONCE_CAP_MS = 5000;
/** Without trouble for this long, the backoff starts from the beginning. */
const BACKOFF_RESET_MS = 120_000;
const NOT_INSTALLED_WAIT_MS = 2000;
/** How often a streaming list that goes on is worth a warning. */
const LIST_WARNING_MS = 10_000;

/** Bookmarks come about once a minute; two of them and some slack. */
const SILENCE_MS = 150_000;
/** The watchdog is sooner than the connection's own deadline, which it is to name. */
const WATCHDOG_SHARE = 0.9;
/** Longest time without an object while a list is under way. */
const LIST_SILENCE_MS = 60_000;

type WatchEnd = 'watch-again' | 'list-again';

export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #seen = new SeenHistory();
  #streamingSupported = true;
  #failures = 0;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  /** When the server was asked for what is under way. */
  #askedMs = 0;

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  /** Version up to which the sink has seen everything; empty before the first list ended. */
  get resourceVersion(): string {
    return this.#seen.resourceVersion;
  }

  /** Runs until aborted. Never rejects for anything the API server or the network does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      try {
        let end = await this.#listAndWatch(signal);
        while (!isAborted(signal) && end === 'watch-again') end = await this.#resume(signal);
        await this.#pace(signal);
      } catch (error) {
        if (!isAborted(signal)) await this.#recover(error, signal);
      }
    }
  }

  /** One list, and with a streaming list the watch that goes on from it. */
  async #listAndWatch(signal: AbortSignal): Promise<WatchEnd> {
    this.#askedMs = this.#options.clock.monotonicMs();
    if (this.#streamingSupported) {
      try {
        return await this.#streamingList(signal);
      } catch (error) {
        if (!isKubeError(error, 'Invalid')) throw error;
        this.#streamingSupported = false;
      }
    }
    await this.#pagedList(signal);
    return this.#watch(signal);
  }

  async #streamingList(signal: AbortSignal): Promise<WatchEnd> {
    const stream = this.#stream({ resourceVersion: '', sendInitialEvents: true }, signal);
    this.#listStarts();
    let listing = true;
    const stopWarning = this.#warnWhileListing();
    stream.expect('list', LIST_SILENCE_MS);
    try {
      for await (const arrived of stream.events) {
        stream.arrived();
        for (const event of arrived) {
          if (listing && event.type === 'BOOKMARK' && event.initialEventsEnd) {
            await this.#listed(event.resourceVersion);
            listing = false;
            stopWarning();
            stream.expect('watch', this.#silenceMs);
          } else if (listing && event.type !== 'BOOKMARK' && event.type !== 'DELETED') {
            this.#show(event.object);
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
      stream.end();
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
    const { client, resource, selection = {} } = this.#options;
    const stop = new AbortController();
    const release = onAbort(signal, () => stop.abort());
    const work = this.#register('list', LIST_SILENCE_MS, () => stop.abort());
    const options = { ...selection, consistency: 'one-version' } as const;
    this.#listStarts();
    let resourceVersion = '';
    try {
      for await (const page of pagesOf(client, resource, options, stop.signal)) {
        work.progress();
        for (const item of page.items) this.#show(item);
        ({ resourceVersion } = page);
      }
    } finally {
      work.done();
      release();
    }
    await this.#listed(resourceVersion);
  }

  #listStarts(): void {
    this.#seen.listStarts();
    this.#options.sink.listStarts();
  }

  #show(object: WatchedObject): void {
    this.#seen.note(object);
    this.#options.sink.listed(object);
  }

  async #listed(resourceVersion: string): Promise<void> {
    const seen = this.resourceVersion;
    // A list is of the newest state, so a version below what was seen is one of another history.
    if (isNewer(seen, resourceVersion)) this.#noteWentBack(seen, resourceVersion);
    await this.#options.sink.listEnds(resourceVersion);
    this.#seen.listEnds(resourceVersion);
  }

  /** Watches on, unless the server may not have what was seen any more. */
  async #resume(signal: AbortSignal): Promise<WatchEnd> {
    const { client, clock, resource, selection = {} } = this.#options;
    this.#askedMs = clock.monotonicMs();
    try {
      const found = await this.#seen.compare((one) => client.newest(resource, { ...selection, ...one }, signal));
      if (found.history === 'another') this.#noteWentBack(found.from, found.to);
      if (found.history !== 'same') return 'list-again';
    } catch (error) {
      return await this.#afterBrokenWatch(error, signal);
    }
    return this.#watch(signal);
  }

  #noteWentBack(seen: string, now: string): void {
    const { logger, resource, onWentBack } = this.#options;
    logger.error(
      { resource: resource.plural, seen, now },
      'The API server went back to an earlier version, as after a restore of etcd; listing again. See docs/audit.md',
    );
    onWentBack?.(seen, now);
    this.#seen.forget();
  }

  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    const { clock, logger, resource } = this.#options;
    const started = clock.monotonicMs();
    this.#askedMs = started;
    let events = 0;
    const tookMs = (): number => clock.monotonicMs() - started;
    const stream = this.#stream({ resourceVersion: this.resourceVersion }, signal);
    stream.expect('watch', this.#silenceMs);
    let broken: unknown;
    try {
      for await (const arrived of stream.events) {
        stream.arrived();
        events += arrived.length;
        for (const event of arrived) this.#take(event, false);
      }
    } catch (error) {
      broken = error;
    } finally {
      stream.end();
    }
    if (events === 0 && tookMs() >= this.#silenceMs && !isAborted(signal)) {
      logger.warn({ resource: resource.plural }, 'The watch brought neither an event nor a bookmark; listing again');
      return 'list-again';
    }
    if (broken !== undefined) return await this.#afterBrokenWatch(broken, signal);
    // A server that closes at once, again and again, must not be asked in a tight loop.
    if (tookMs() < SHORT_WATCH_MS) await (events === 0 ? this.#wait(signal, undefined) : this.#pace(signal));
    return 'watch-again';
  }

  get #silenceMs(): number {
    return (this.#options.silenceMs ?? SILENCE_MS) * WATCHDOG_SHARE;
  }

  #stream(from: Pick<WatchOptions, 'resourceVersion' | 'sendInitialEvents'>, signal: AbortSignal): WatchedStream {
    const { client, resource, selection = {}, random = Math.random } = this.#options;
    const { silenceMs = SILENCE_MS } = this.#options;
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS * (1 + random()));
    const options = { ...selection, ...from, timeoutSeconds, silenceMs };
    return watchedStream((stop) => client.watch(resource, options, stop), {
      signal,
      register: (what, limitMs, breakOff) => this.#register(what, limitMs, breakOff),
    });
  }

  #register(what: 'list' | 'watch', limitMs: number, breakOff: () => void): WatchedWork {
    const { watchdog, resource } = this.#options;
    return watchdog?.register(`${what} ${resource.plural}`, limitMs, breakOff) ?? unwatched;
  }

  /** A removal during the initial events is one of an object that this list will not show. */
  #take(event: WatchEvent, listing: boolean): void {
    const { sink } = this.#options;
    switch (event.type) {
      case 'BOOKMARK':
        if (!listing) this.#seen.advance(event.resourceVersion);
        return;
      case 'DELETED':
        sink.removed(event.object);
        this.#seen.drop(event.object);
        break;
      case 'ADDED':
      case 'MODIFIED':
        sink.changed(event.object);
        this.#seen.note(event.object);
    }
    if (!listing) this.#seen.advance(event.object.identity.resourceVersion);
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

  /** What happens once is followed up at once; what happens again and again waits longer each time. */
  async #pace(signal: AbortSignal): Promise<void> {
    if (this.#isNews()) this.#noteFailure();
    else await this.#wait(signal, undefined);
  }

  async #wait(signal: AbortSignal, error: unknown): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#isNews();
    const failedAtOnce = isKubeError(error, 'Unavailable') && clock.monotonicMs() - this.#askedMs < AT_ONCE_MS;
    const pace = failedAtOnce ? { ...backoff, capMs: AT_ONCE_CAP_MS } : backoff;
    const delay = Math.max(asked, backoffMs(pace, this.#failures, random));
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

/** A watch that the watchdog breaks off where nothing arrives. */
export interface WatchedStream {
  readonly events: AsyncIterable<readonly WatchEvent[]>;
  /** What it is from now on, and how long it may be silent. */
  expect(what: 'list' | 'watch', limitMs: number): void;
  arrived(): void;
  /** To be called however it ended. */
  end(): void;
}

interface Supervision {
  readonly signal: AbortSignal;
  readonly register: (what: 'list' | 'watch', limitMs: number, breakOff: () => void) => WatchedWork;
}

/** For work that no watchdog knows. */
export const unwatched: WatchedWork = { progress: () => undefined, done: () => undefined };

export function watchedStream(
  open: (signal: AbortSignal) => AsyncIterable<readonly WatchEvent[]>,
  { signal, register }: Supervision,
): WatchedStream {
  const stop = new AbortController();
  const release = onAbort(signal, () => stop.abort());
  let work = unwatched;
  return {
    events: open(stop.signal),
    expect: (what, limitMs) => {
      work.done();
      work = register(what, limitMs, () => stop.abort());
    },
    arrived: () => work.progress(),
    end: () => {
      work.done();
      release();
    },
  };
}
