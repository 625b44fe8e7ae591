// Tells about objects in Kubernetes events, without ever getting in the way of the work.
//
// `record` only puts the event into a bounded queue and returns. When the queue is full, the event is dropped and
// counted. One writer sends what is queued, tries again where that can help, and drops the event otherwise.
//
// The same thing happening again is one Event with a count. Its first repeat is written at once, so that it can be seen
// to repeat; later ones are counted and written once in a while, and when the series ends.
//
// The API server takes no event in a namespace that is being deleted. What is to be told there is told of the namespace
// itself, whose events are in `default`: one series for each reason, with the note of the first object.
import type { KubernetesObject } from '../api/object.ts';
import { isAborted, onAbort } from '../base/abort.ts';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError, isNamespaceTerminating, KubeError } from '../kube/errors.ts';
import { events } from '../kube/resources.ts';
import { namespaceOf, newEvent, type ObjectEvent, type Reporter, seriesKey, seriesPatch } from './event-series.ts';

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Events waiting to be written; 1000 unless given. */
  readonly queueLimit?: number;
  /** Series that are remembered; 4096 unless given. */
  readonly seriesLimit?: number;
  /** Called for every event that was not written. */
  readonly onDropped?: () => void;
}

interface Series {
  readonly object: KubernetesObject;
  readonly event: ObjectEvent;
  readonly firstAt: Date;
  name: string | undefined;
  count: number;
  lastAt: Date;
  lastMs: number;
  /** Count that the API server has. */
  written: number;
  queued: boolean;
}

const QUEUE_LIMIT = 1000;
const SERIES_LIMIT = 4096;
const ATTEMPTS = 5;
/** How often a series that goes on is written. */
const REFRESH_MS = 60_000;
/** A series that has not gone on for so long has ended. */
const FINISH_MS = 6 * 60_000;
/** How long a namespace is taken for one that is being deleted, before an event in it is tried again. */
const LEAVING_MS = 60_000;
/** Namespaces that are taken so; beyond them all are tried again. */
const LEAVING_LIMIT = 1000;
const backoff = { baseMs: 1000, capMs: 10_000, jitter: 1 };

export class EventRecorder {
  readonly name = 'event recorder';
  /** Stops after everything that records. */
  readonly group = 'cache';
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  /** Namespaces that are being deleted, and until when that is believed. */
  readonly #leaving = new Map<string, number>();
  #wake: () => void = () => undefined;
  #cancelRefresh: (() => void) | undefined;
  #dropped = 0;
  #stopped = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Events that were not written, because there were too many or the API server refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Never blocks and never throws. */
  record(object: KubernetesObject, event: ObjectEvent): void {
    if (this.#stopped) return;
    const { clock, seriesLimit = SERIES_LIMIT } = this.#options;
    const key = seriesKey(object, event);
    const known = this.#series.get(key);
    const now = clock.now();
    if (known !== undefined) {
      known.count += 1;
      known.lastAt = now;
      known.lastMs = clock.monotonicMs();
      // Until the API server knows that it repeats; from then on it is refreshed once in a while.
      if (known.written <= 1) this.#enqueue(known);
      return;
    }
    if (this.#series.size >= seriesLimit) this.#forgetOldest();
    const series = {
      ...{ object: identityOf(object), event, firstAt: now, name: undefined, count: 1 },
      ...{ lastAt: now, lastMs: clock.monotonicMs(), written: 0, queued: false },
    };
    if (!this.#enqueue(series)) return;
    this.#series.set(key, series);
    this.#scheduleRefresh();
  }

  /** Writes events until aborted, and then what is queued, unless the API server is away. */
  async run(signal: AbortSignal): Promise<void> {
    const takeBack = onAbort(signal, () => this.#wake());
    while (!isAborted(signal)) {
      const next = this.#queue.shift();
      if (next === undefined) await this.#untilWoken(signal);
      else await this.#write(next, signal);
    }
    takeBack();
    this.#stopped = true;
    this.#cancelRefresh?.();
    for (const series of this.#series.values()) if (series.count > series.written) this.#enqueue(series);
    for (const series of this.#queue.splice(0)) if (!(await this.#write(series, signal))) return;
  }

  #untilWoken(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #enqueue(series: Series): boolean {
    if (series.queued) return true;
    if (this.#queue.length >= (this.#options.queueLimit ?? QUEUE_LIMIT)) {
      this.#drop('Too many events are waiting', undefined);
      return false;
    }
    series.queued = true;
    this.#queue.push(series);
    this.#wake();
    return true;
  }

  /** False when the API server cannot be reached. */
  async #write(series: Series, signal: AbortSignal): Promise<boolean> {
    series.queued = false;
    if (this.#isLeaving(series)) {
      this.#tellOfNamespace(series);
      return true;
    }
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#send(series);
        return true;
      } catch (error) {
        if (isNamespaceTerminating(error)) {
          this.#leaves(namespaceOf(series.object));
          this.#tellOfNamespace(series);
          return true;
        }
        const canHelp = isKubeError(error, 'Unavailable') || isKubeError(error, 'TooManyRequests');
        if (!canHelp || attempt + 1 >= ATTEMPTS || isAborted(signal)) {
          this.#drop('An event could not be written', error);
          return !canHelp;
        }
        const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(this.#options.clock, Math.max(asked, backoffMs(backoff, attempt)), signal);
      }
    }
  }

  #leaves(namespace: string): void {
    if (this.#leaving.size >= LEAVING_LIMIT) this.#leaving.clear();
    this.#leaving.set(namespace, this.#options.clock.monotonicMs() + LEAVING_MS);
  }

  #isLeaving({ object }: Series): boolean {
    const until = this.#leaving.get(namespaceOf(object));
    if (until === undefined) return false;
    if (this.#options.clock.monotonicMs() < until) return true;
    this.#leaving.delete(namespaceOf(object));
    return false;
  }

  #tellOfNamespace(series: Series): void {
    const { object, event, count } = series;
    series.written = count;
    this.record(namespaceObject(namespaceOf(object)), {
      ...event,
      note: `${object.kind} ${object.metadata.name}: ${event.note}`,
    });
  }

  async #send(series: Series): Promise<void> {
    const { client, reporter } = this.#options;
    const namespace = namespaceOf(series.object);
    // Read before the request: what is counted meanwhile is not written by it.
    const { count, name } = series;
    if (name !== undefined) {
      try {
        const ref = { resource: events, namespace, name };
        await client.mergePatch(ref, seriesPatch(count, series.lastAt));
        series.written = count;
        return;
      } catch (error) {
        // The API server keeps events for an hour only; a series that goes on longer starts another.
        if (!isKubeError(error, 'NotFound')) throw error;
      }
    }
    const when = name === undefined ? series.firstAt : series.lastAt;
    const unique = `${seriesKey(series.object, series.event)} ${when.toISOString()} ${reporter.instance}`;
    const created = newEvent(series.object, series.event, reporter, { at: when, unique });
    const repeats = count > 1 ? seriesPatch(count, series.lastAt) : {};
    await this.#create(namespace, { ...created.body, ...repeats });
    series.name = created.name;
    series.written = count;
  }

  /** That it exists already is the answer to an attempt whose first answer was lost. */
  async #create(namespace: string, body: object): Promise<void> {
    try {
      await this.#options.client.create(events, namespace, body);
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error;
    }
  }

  /** One timer as long as there is a series that may go on. */
  #scheduleRefresh(): void {
    this.#cancelRefresh ??= this.#options.clock.schedule(REFRESH_MS, () => {
      this.#cancelRefresh = undefined;
      this.#refresh();
      if (this.#series.size > 0) this.#scheduleRefresh();
    });
  }

  #refresh(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, series] of this.#series) {
      if (series.count > series.written && series.written > 0) this.#enqueue(series);
      if (nowMs - series.lastMs >= FINISH_MS) this.#series.delete(key);
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#series;
    if (oldest === undefined) return;
    const [key, series] = oldest;
    if (series.count > series.written) this.#enqueue(series);
    this.#series.delete(key);
  }

  /** The first is logged, and then every time their number has doubled. */
  #drop(message: string, error: unknown): void {
    this.#dropped += 1;
    this.#options.onDropped?.();
    const isNews = (this.#dropped & (this.#dropped - 1)) === 0;
    const level = isNews ? 'warn' : 'debug';
    this.#options.logger[level]({ dropped: this.#dropped, err: error }, `${message}; dropping it`);
  }
}

/** A series is remembered for minutes; the whole object need not be. */
function identityOf({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } };
}

/** As far as an event names it: without its uid, which takes the right to read namespaces. */
function namespaceObject(name: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { namespace: '', name, uid: '', resourceVersion: '' } };
}
