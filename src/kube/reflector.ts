// Lists and watches one resource for ever and hands on what it sees, in order.
//
//   list, page by page ──▶ watch
//       │  ▲                 ├─ clean end, 429, 5xx, broken stream: watch again from the last version, after backoff,
//       │  │                 │  if the server still knows that version
//       │  └─────────────────┴─ version expired, version gone back, nothing came at all, nothing was heard of the server
//       │                       for a while, or anything unknown: list again
//       └─ failed: backoff, list again
//
// A list is read in pages, and the sink may let it wait (ADR 21). The version that pages continue from expires after some
// minutes. Then the list starts over, which is fast: what the sink has already it need not wait for.
//
// A server that was put back to an earlier state takes a watch from a version that it has not reached, and is silent.
// So before a watch is resumed the server is asked whether it still has what was seen (see SeenHistory), and a watch that
// brought nothing is not resumed. Neither is one after which nothing was heard of the server for longer than a restore takes:
// it may have given out as many versions again since, and changed each object that could tell.
//
// Where neither a list nor a watch gets through, because the API server refuses both or cannot read an object of its own,
// that is an interruption: the watchdog tells of it, and the status says why. It ends with a watch that stands.
//
// The version advances only after the sink took the event, so a stream that breaks anywhere never skips one. What a
// list shows is applied at once; what it no longer shows is removed only when the list is complete.
import type { Identity } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Watchdog, WatchedWork } from '../base/watchdog.ts';
import type { KubeClient, Resource, Selection, WatchEvent, WatchOptions } from './client.ts';
import { isKubeError } from './errors.ts';
import { type Interruption, InterruptionWatch } from './interruption.ts';
import { oneAhead, pagesOf } from './pages.ts';
import { quietUntil } from './quiet.ts';
import { isNewer } from './resource-version.ts';
import { RetryPace } from './retry-pace.ts';
import { SeenHistory } from './seen-history.ts';
import { SupervisedCall, unwatched } from './supervised-call.ts';
import type { WatchedObject } from './watched-object.ts';

/** Takes what the reflector sees. Changes are taken at once; a list waits for the sink. */
export interface ReflectorSink {
  listStarts(): void;
  /** A page of the list. The next one is shown when the promise is kept, which must not take for ever. */
  listed(objects: readonly WatchedObject[], signal: AbortSignal): Promise<void>;
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
  /** Objects for which it is false are not shown, as if they were not there; all are shown unless it is given. */
  readonly keeps?: (object: Identity) => boolean;
  /** Asks the server for little more than is kept. */
  readonly shardSelector?: string | undefined;
  /** Longest time without a byte before a watch counts as dead; see WatchOptions. */
  readonly silenceMs?: number;
  readonly random?: () => number;
  /** Told of every list and watch; it breaks off what is silent for too long. */
  readonly watchdog?: Pick<Watchdog, 'register'>;
  /** The server is at an earlier version than it was: it was restored from a backup. */
  readonly onWentBack?: (from: string, to: string) => void;
}

/** A watch that ends sooner, and empty, counts as a failure. */
const SHORT_WATCH_MS = 1000;
/** To restore etcd all API servers are stopped and started, which takes longer than this. */
const UNHEARD_MS = 2000;
const NOT_INSTALLED_WAIT_MS = 2000;
/** How often a list that goes on is worth a line in the log. */
const LIST_TOLD_MS = 10_000;

/** Bookmarks come about once a minute; two of them and some slack. */
const SILENCE_MS = 150_000;
const WATCHDOG_SHARE = 0.9;
/**
 * Of that time, how long a watch is asked for, at different times: its end is a sign of life too, and the only one of an API
 * server without a watch cache, which sends no bookmarks.
 */
const WATCH_SHARE = { from: 0.6, to: 0.9 };
/** Longest time without a page while the server is asked for one. */
const LIST_SILENCE_MS = 60_000;
/** A watch that stood for this long, or brought something, gets through. */
const STANDS_MS = 5000;

/** A watch that did not break. */
interface EndedWatch {
  readonly events: number;
  readonly tookMs: number;
  /** Time after which an empty one counts as dead. */
  readonly deadMs: number;
}

type WatchEnd = 'watch-again' | 'list-again' | 'list-at-once';

export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #seen = new SeenHistory();
  readonly #pace: RetryPace;
  /** When the server was last known to be at work. */
  #heardMs = 0;
  /** One object for each watch, while it stands. */
  #standing: object | undefined;
  #changedVersion = '';
  readonly #interruptions: InterruptionWatch;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    const { clock, logger, watchdog, resource, random = Math.random } = options;
    this.#pace = new RetryPace(clock, random);
    this.#interruptions = new InterruptionWatch({ clock, logger, watchdog, plural: resource.plural });
  }

  /** Version up to which the sink has seen everything; empty before the first list ended. */
  get resourceVersion(): string {
    return this.#seen.resourceVersion;
  }

  /** The newest version of an object that was shown; empty before there is one. */
  get changedVersion(): string {
    return this.#changedVersion;
  }

  /** While lists and watches fail. */
  get interruption(): Interruption | undefined {
    return this.#interruptions.interruption;
  }

  /**
   * Asks the server how far the watch is, which brings nothing of what others change where the server knows `shardSelector`.
   * For some seconds, as long as the signal lets it.
   */
  async lookAhead(signal: AbortSignal): Promise<void> {
    const { client, resource, selection, shardSelector, keeps = () => true } = this.#options;
    const standing = this.#standing;
    if (standing === undefined) return;
    const asked = { ...selection, shardSelector, keeps, resourceVersion: this.resourceVersion };
    const version = await quietUntil(client, resource, asked, signal);
    // What was found out beside another watch may be of another history.
    if (version !== undefined && this.#standing === standing) this.#seen.advance(version);
  }

  /** Runs until aborted. Never rejects for anything the API server or the network does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      try {
        await this.#list(signal);
        let end = await this.#watch(signal);
        while (!isAborted(signal) && end === 'watch-again') end = await this.#resume(signal);
        if (end === 'list-again') await this.#pace.followUp(signal);
      } catch (error) {
        if (!isAborted(signal)) await this.#recover(error, signal);
      }
    }
    this.#interruptions.end();
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, sink, selection = {}, shardSelector } = this.#options;
    const call = this.#supervise('list', LIST_SILENCE_MS, signal);
    const pages = pagesOf(client, resource, { ...selection, shardSelector, consistency: 'one-version' }, call.signal);
    this.#pace.asks();
    this.#seen.listStarts();
    sink.listStarts();
    const tellSlow = this.#slowListTeller();
    let resourceVersion = '';
    try {
      call.expect();
      for await (const page of oneAhead(pages)) {
        // The server has answered. How long the sink takes is not the server's silence.
        call.answered();
        this.#interruptions.listed();
        const items = this.#kept(page.items);
        await sink.listed(items, signal);
        for (const item of items) this.#noteListed(item);
        tellSlow(page.items.length);
        ({ resourceVersion } = page);
        call.expect();
      }
    } finally {
      call.end();
    }
    await this.#listed(resourceVersion);
  }

  #kept(objects: readonly WatchedObject[]): readonly WatchedObject[] {
    const { keeps } = this.#options;
    return keeps === undefined ? objects : objects.filter(({ identity }) => keeps(identity));
  }

  #noteListed(object: WatchedObject): void {
    const found = this.#seen.compareListed(object);
    if (found.history === 'another') this.#noteWentBack(found.from, found.to);
    this.#seen.note(object);
    this.#noteChanged(object);
  }

  #noteChanged({ identity: { resourceVersion } }: WatchedObject): void {
    if (!isNewer(this.#changedVersion, resourceVersion)) this.#changedVersion = resourceVersion;
  }

  /** Says from time to time how far a long list is. */
  #slowListTeller(): (objects: number) => void {
    const { clock, logger, resource } = this.#options;
    const started = clock.monotonicMs();
    let [told, objects] = [started, 0];
    return (more) => {
      objects += more;
      const now = clock.monotonicMs();
      if (now - told < LIST_TOLD_MS) return;
      told = now;
      const seconds = Math.round((now - started) / 1000);
      logger.info({ resource: resource.plural, objects, seconds }, 'The list goes on');
    };
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
    const { client, resource, selection = {} } = this.#options;
    if (this.#pace.asks() - this.#heardMs > UNHEARD_MS) return 'list-at-once';
    try {
      const found = await this.#seen.compare((one) => client.newest(resource, { ...selection, ...one }, signal));
      if (found.history === 'another') this.#noteWentBack(found.from, found.to);
      if (found.history !== 'same') return 'list-again';
    } catch (error) {
      return await this.#afterBrokenWatch(error, signal);
    }
    return this.#watch(signal);
  }

  #hear(): void {
    this.#heardMs = this.#options.clock.monotonicMs();
  }

  #noteWentBack(seen: string, now: string): void {
    const { logger, resource, onWentBack } = this.#options;
    logger.error(
      { resource: resource.plural, seen, now },
      'The API server went back to an earlier version, as after a restore of etcd; everything is listed again. See docs/audit.md',
    );
    onWentBack?.(seen, now);
    this.#seen.forget();
    this.#changedVersion = '';
  }

  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    const { client, clock, resource } = this.#options;
    const started = this.#pace.asks();
    let events = 0;
    const options = this.#watchOptions();
    // The watchdog is sooner than the connection's own deadline, which it is to name.
    const deadMs = options.silenceMs * WATCHDOG_SHARE;
    const call = this.#supervise('watch', deadMs, signal);
    let cancelStands: (() => void) | undefined;
    let broken: unknown;
    let silentMs = 0;
    this.#standing = call;
    try {
      call.expect();
      for await (const arrived of client.watch(resource, options, call.signal)) {
        call.progress();
        this.#hear();
        events += arrived.length;
        if (arrived.length > 0) this.#interruptions.end();
        cancelStands ??= clock.schedule(STANDS_MS, () => this.#interruptions.end());
        for (const event of arrived) this.#take(event);
      }
      this.#hear();
    } catch (error) {
      broken = error;
      // The server, or its system, ended the stream, unless the watchdog did.
      if (isAborted(call.signal)) silentMs = deadMs;
      else this.#hear();
    } finally {
      this.#standing = undefined;
      cancelStands?.();
      call.end();
    }
    const tookMs = clock.monotonicMs() - started;
    if (broken === undefined || (events === 0 && tookMs >= deadMs))
      return await this.#afterWatch({ events, tookMs, deadMs }, signal);
    return await this.#afterBrokenWatch(broken, signal, silentMs);
  }

  async #afterWatch(ended: EndedWatch, signal: AbortSignal): Promise<WatchEnd> {
    const { events, tookMs, deadMs } = ended;
    const { logger, resource } = this.#options;
    if (events === 0 && tookMs >= deadMs && !isAborted(signal)) {
      this.#interruptions.failed('the watch brought neither an event nor a bookmark', tookMs);
      logger.warn({ resource: resource.plural }, 'The watch brought neither an event nor a bookmark; listing again');
      return 'list-again';
    }
    // A server that closes at once, again and again, must not be asked in a tight loop.
    if (tookMs >= SHORT_WATCH_MS) return 'watch-again';
    if (events > 0) {
      await this.#pace.followUp(signal);
      return 'watch-again';
    }
    this.#interruptions.failed('the API server ends each watch at once');
    await this.#pace.wait(signal, undefined);
    return 'watch-again';
  }

  #watchOptions(): WatchOptions & { readonly silenceMs: number } {
    const { selection = {}, shardSelector, silenceMs = SILENCE_MS, random = Math.random } = this.#options;
    const share = WATCH_SHARE.from + (WATCH_SHARE.to - WATCH_SHARE.from) * random();
    const timeoutSeconds = Math.max(1, Math.floor((silenceMs * WATCHDOG_SHARE * share) / 1000));
    return { ...selection, shardSelector, resourceVersion: this.resourceVersion, timeoutSeconds, silenceMs };
  }

  #supervise(what: 'list' | 'watch', limitMs: number, signal: AbortSignal): SupervisedCall {
    const { watchdog, resource } = this.#options;
    const register = (breakOff: () => void): WatchedWork =>
      watchdog?.register(`${what} ${resource.plural}`, limitMs, breakOff) ?? unwatched;
    return new SupervisedCall(register, signal);
  }

  #take(event: WatchEvent): void {
    const { sink, keeps } = this.#options;
    if (event.type !== 'BOOKMARK' && keeps?.(event.object.identity) === false) {
      this.#seen.advance(event.object.identity.resourceVersion);
      return;
    }
    switch (event.type) {
      case 'BOOKMARK':
        this.#seen.advance(event.resourceVersion);
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
    this.#noteChanged(event.object);
    this.#seen.advance(event.object.identity.resourceVersion);
  }

  async #afterBrokenWatch(error: unknown, signal: AbortSignal, silentMs = 0): Promise<WatchEnd> {
    if (isAborted(signal)) return 'watch-again';
    this.#interruptions.failed(messageOf(error), silentMs);
    const { logger, resource } = this.#options;
    if (isKubeError(error, 'Expired')) {
      logger.info({ resource: resource.plural }, 'The watch expired; listing again');
      return 'list-again';
    }
    const resumable = isKubeError(error, 'Unavailable') || isKubeError(error, 'TooManyRequests');
    if (!resumable) throw error;
    if (this.#pace.isNews()) logger.info({ resource: resource.plural, err: error }, 'The watch broke; resuming it');
    await this.#pace.wait(signal, error);
    // A server that is too busy is at work.
    if (isKubeError(error, 'TooManyRequests')) this.#hear();
    return 'watch-again';
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { logger, resource, clock, sink } = this.#options;
    if (isKubeError(error, 'NotFound')) {
      // There is nothing to see.
      this.#interruptions.end();
      sink.notInstalled();
      await sleep(clock, NOT_INSTALLED_WAIT_MS, signal);
      return;
    }
    this.#interruptions.failed(messageOf(error));
    // The version a page continues from is gone: start over at once, that is no failure of the server.
    if (isKubeError(error, 'Expired') && this.#pace.isNews()) {
      this.#pace.noteFailure();
      return;
    }
    if (this.#pace.isNews()) logger.warn({ resource: resource.plural, err: error }, 'List failed; trying again');
    await this.#pace.wait(signal, error);
  }
}
