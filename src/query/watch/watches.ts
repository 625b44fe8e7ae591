// Watches: what there is, then each change as MySQL takes it, until the client goes or the time is over. A watch holds a place in
// the log of its kind and nothing of what it has not written yet, so a slow reader costs no memory; one that falls behind what
// the log keeps begins anew.
import type { KindDefinition } from '../../api/kind.ts';
import type { Clock } from '../../base/clock.ts';
import type { ListQuery } from '../../storage/list-query.ts';
import type { StoredObject } from '../../storage/metadata-storage.ts';
import { type Context, JsonStream } from '../context.ts';
import { QueryError, queryErrorOf } from '../errors.ts';
import { bulk, readPages } from '../list.ts';
import { pageBounds, selection, selections } from '../list-query.ts';
import { type ListRequest, parseListRequest } from '../list-request.ts';
import { negotiateShape } from '../negotiate.ts';
import type { QueryAppOptions } from '../options.ts';
import type { Collection } from '../paths.ts';
import { Places } from '../places.ts';
import { type Change, ChangeLog } from './change-log.ts';
import { type Moment, momentOf, readMoment } from './moments.ts';
import { bookmarkText, changeText, type EventForm, errorText, initialText } from './watch-events.ts';
import { eventOf, type Matching, parseWatchRequest, type WatchRequest } from './watch-request.ts';

/** Of all users. Each has a connection for as long as it lasts, which the server has beside those for requests. */
export const MOST_WATCHES = 1500;
/** Of one user: each costs as much as there are changes. */
const MOST_WATCHES_EACH = 100;
/** Objects that the labels of a watch select. */
const MOST_MATCHING = 10_000;
/** Of all watches together; one user has a third of it at most. Each takes a hundred bytes. */
const MOST_MATCHING_OF_ALL = 250_000;
/** Of the json in the logs of all kinds together. */
const LOG_BYTES = 32 * 1024 * 1024;
const LEAST_LOG_BYTES = 2 * 1024 * 1024;
/** A log is kept for clients that come again. */
const KEEP_LOG_MS = 60_000;
const CHANGES_AT_ONCE = 100;
const RIGHTS_MS = 30_000;
const BOOKMARK_MS = 1000;
const SHORTEST_MS = 30 * 60_000;
const LONGEST_MS = 60 * 60_000;

interface KeptLog {
  readonly log: ChangeLog;
  readonly stop: AbortController;
  watches: number;
  cancelStop: () => void;
}

interface Begun {
  readonly collection: Collection;
  readonly asked: WatchRequest;
  readonly form: EventForm;
  readonly log: ChangeLog;
  readonly place: number;
  readonly matching: MatchingUids;
  /** The place of the first change after the beginning. */
  readonly firstNew: number;
  readonly initial: AsyncIterable<readonly StoredObject[]> | undefined;
  readonly moment: Moment;
}

/** What the watches of all clusters share. */
export class WatchRoom {
  readonly places = new Places(MOST_WATCHES, MOST_WATCHES_EACH);
  readonly matching = new Places(MOST_MATCHING_OF_ALL);
  logs = 0;
}

export class Watches {
  readonly #options: QueryAppOptions;
  readonly #clock: Clock;
  readonly #room: WatchRoom;
  readonly #logs = new Map<KindDefinition, KeptLog>();

  constructor(options: QueryAppOptions, room: WatchRoom) {
    this.#options = options;
    this.#room = room;
    this.#clock = options.clock;
  }

  /** Answers until the watch ends. Before it begins every error is an answer of its own. */
  async watch(collection: Collection, context: Context): Promise<void> {
    const { user, time } = context;
    const asked = parseWatchRequest(context.query, collection.namespace);
    const form = {
      kind: collection.kind,
      shape: negotiateShape(context.request.headers.accept),
      includeObject: asked.includeObject,
    };
    await time.within(this.#mayWatch(collection, context));
    if (!this.#room.places.tryTake(user.name)) {
      const message = `User "${user.name}" has as many watches as there is room for; end one, or try again`;
      throw new QueryError('TooManyRequests', message, { retryAfterSeconds: 1 });
    }
    const moment = startOf(asked, this.#clock);
    const kept = this.#join(collection.kind, moment);
    const matching = new MatchingUids(this.#room.matching, user.name);
    try {
      const begun = await this.#begin({ collection, asked, form, log: kept.log, matching, moment }, context);
      await this.#stream(begun, context);
    } finally {
      matching.clear();
      this.#leave(collection.kind, kept);
      this.#room.places.give(user.name);
    }
  }

  #mayWatch({ kind, namespace }: Collection, { user, time }: Context): Promise<void> {
    return this.#options.authorizer.require(user, { verb: 'watch', kind, namespace }, time.signal);
  }

  #join(kind: KindDefinition, from: Moment): KeptLog {
    const found = this.#logs.get(kind);
    if (found !== undefined) {
      found.watches += 1;
      found.cancelStop();
      return found;
    }
    const { storage } = this.#options;
    const mostBytes = (): number => Math.max(LEAST_LOG_BYTES, LOG_BYTES / this.#room.logs);
    const log = new ChangeLog({ kind, storage, clock: this.#clock, mostBytes }, from);
    const kept: KeptLog = { log, stop: new AbortController(), watches: 1, cancelStop: () => undefined };
    this.#logs.set(kind, kept);
    this.#room.logs += 1;
    void log.run(kept.stop.signal);
    return kept;
  }

  #leave(kind: KindDefinition, kept: KeptLog): void {
    kept.watches -= 1;
    if (kept.watches > 0) return;
    kept.cancelStop = this.#clock.schedule(KEEP_LOG_MS, () => {
      this.#logs.delete(kind);
      this.#room.logs -= 1;
      kept.stop.abort();
    });
  }

  async #begin(
    asking: Pick<Begun, 'collection' | 'asked' | 'form' | 'log' | 'matching' | 'moment'>,
    { time }: Context,
  ): Promise<Begun> {
    const { collection, asked, form, log, matching, moment } = asking;
    const { after } = asked;
    await time.within(this.#caughtUp(log, momentOf(this.#clock.now()), time.signal));
    const firstNew = log.end;
    // What is read below is newer than everything before it.
    const place = after === undefined ? firstNew : placeIn(log, after);
    if (place === undefined) throw expired(after ?? String(moment));
    const query = this.#queryOf(collection, asked);
    const storage = this.#options.storage.until(time.signal);
    const within = <T>(work: Promise<T>): Promise<T> => time.within(work);
    if (asked.labels.length > 0) {
      const slim = { ...query, skip: bulk };
      for await (const page of readPages(storage, form.kind, slim, { limit: MOST_MATCHING + 1, within }))
        for (const { uid } of page.items) matching.add(uid);
    }
    const pages = after === undefined ? readPages(storage, form.kind, query, { limit: undefined, within }) : undefined;
    const initial = pages === undefined ? undefined : await begunPages(pages);
    return { ...asking, place, firstNew, initial };
  }

  /** Until everything that was committed before the moment is in the log. */
  async #caughtUp(log: ChangeLog, moment: Moment, signal: AbortSignal): Promise<void> {
    while (log.moment < moment && !signal.aborted) {
      await log.next();
      const failure = log.lastFailure ?? log.failure;
      if (failure !== undefined) throw failure;
    }
  }

  #queryOf(collection: Collection, asked: WatchRequest): ListQuery {
    const list: ListRequest = {
      ...parseListRequest(new URLSearchParams(), 'list'),
      labels: asked.labels,
      where: asked.where,
    };
    return { ...selection(collection, undefined, list), ...selections[asked.source], ...pageBounds };
  }

  async #stream(begun: Begun, context: Context): Promise<void> {
    const { asked, form, initial, matching, moment } = begun;
    const { response, time } = context;
    response.setHeader('Content-Type', 'application/json');
    response.flushHeaders();
    time.begun();
    const out = new JsonStream(response, time.signal);
    try {
      if (initial !== undefined) {
        for await (const items of initial)
          for (const stored of items) {
            if (asked.labels.length > 0) matching.add(stored.uid);
            await out.write(initialText(stored, form, this.#clock.now()));
          }
        if (asked.marksInitial) await out.write(bookmarkText(form, moment, { endsInitial: true }));
        await out.flush();
      }
      time.lasting();
      context.leavePlace();
      await this.#follow(begun, out, context);
    } catch (error) {
      if (time.signal.aborted) return;
      await out.write(errorText(queryErrorOf(error)));
      await out.flush();
    }
    response.end();
  }

  async #follow(begun: Begun, out: JsonStream, context: Context): Promise<void> {
    const { log, asked } = begun;
    const { signal } = context.time;
    const endMs = this.#clock.monotonicMs() + durationOf(asked);
    const checked = this.#every(RIGHTS_MS);
    const marked = this.#every(BOOKMARK_MS);
    let { place } = begun;
    while (!this.#isOver(signal) && this.#clock.monotonicMs() < endMs) {
      if (checked()) await this.#mayWatch(begun.collection, context);
      const { moment } = log;
      const changes = readableFrom(log, place);
      for (const [index, change] of changes.entries())
        await this.#write(begun, out, { change, isEarlier: place + index < begun.firstNew });
      place += changes.length;
      if (place < log.end) continue;
      if (asked.bookmarks && marked()) await out.write(bookmarkText(begun.form, moment, { endsInitial: false }));
      await out.flush();
      await log.next();
    }
  }

  #isOver(signal: AbortSignal): boolean {
    return signal.aborted || this.#options.stopping?.aborted === true;
  }

  /** True at most once in so long, the first time after it. */
  #every(periodMs: number): () => boolean {
    let lastMs = this.#clock.monotonicMs();
    return () => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - lastMs < periodMs) return false;
      lastMs = nowMs;
      return true;
    };
  }

  async #write(
    { asked, form, matching }: Begun,
    out: JsonStream,
    { change, isEarlier }: { readonly change: Change } & Pick<Matching, 'isEarlier'>,
  ): Promise<void> {
    // The client may know a later state of it, and never sees an object go back.
    if (isEarlier && change.isSuperseded) return;
    const type = eventOf(change, asked, { uids: matching, isEarlier });
    if (type === undefined) return;
    await out.write(changeText(type, change, form, this.#clock.now()));
  }
}

function placeIn(log: ChangeLog, after: string): number | undefined {
  const moment = readMoment(after);
  return moment === undefined ? log.placeAfterVersion(after) : log.placeAfter(moment);
}

/** Throws where MySQL is silent, or the changes from there on are gone. */
function readableFrom(log: ChangeLog, place: number): readonly Change[] {
  const { failure, moment } = log;
  if (failure !== undefined) throw failure;
  const changes = log.from(place, CHANGES_AT_ONCE);
  if (changes === undefined) throw expired(String(moment));
  return changes;
}

/** Where a watch that is asked for now begins. */
function startOf({ after }: WatchRequest, clock: Clock): Moment {
  return (after === undefined ? undefined : readMoment(after)) ?? momentOf(clock.now());
}

/** As in Kubernetes a while that differs, so that many clients do not come again at once. */
function durationOf({ timeoutSeconds }: WatchRequest): number {
  const usual = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS);
  return timeoutSeconds === undefined ? usual : Math.min(timeoutSeconds * 1000, LONGEST_MS);
}

function expired(after: string): QueryError {
  return new QueryError('Expired', `too old resource version: ${after}; list again and watch from there`);
}

function tooMany(): QueryError {
  const message = `the labels of your watches select too many objects, ${MOST_MATCHING} for one at most: watch a namespace, or without labels`;
  return new QueryError('RequestEntityTooLarge', message);
}

/** What the labels of one watch select. Throws where it is too much. */
class MatchingUids {
  readonly #uids = new Set<string>();
  readonly #places: Places;
  readonly #user: string;

  constructor(places: Places, user: string) {
    this.#places = places;
    this.#user = user;
  }

  add(uid: string): void {
    if (this.#uids.has(uid)) return;
    if (this.#uids.size >= MOST_MATCHING || !this.#places.tryTake(this.#user)) throw tooMany();
    this.#uids.add(uid);
  }

  delete(uid: string): boolean {
    const had = this.#uids.delete(uid);
    if (had) this.#places.give(this.#user);
    return had;
  }

  clear(): void {
    for (const uid of this.#uids) this.delete(uid);
  }
}

/** The first page is read before the head of the answer is written: its failure is an answer of its own. */
async function begunPages(
  pages: AsyncGenerator<{ readonly items: readonly StoredObject[] }, void>,
): Promise<AsyncIterable<readonly StoredObject[]>> {
  const first = await pages.next();
  return (async function* (): AsyncGenerator<readonly StoredObject[], void> {
    if (first.done === true) return;
    yield first.value.items;
    for await (const { items } of pages) yield items;
  })();
}
