// Workers that take keys from one queue. When a key comes again is decided in `#settle` and `#fail`:
//
//   done                  its failures are forgotten
//   requeue-after         its failures are forgotten, and it comes again after the delay
//   TerminalError         nothing: it comes again only when something adds it, and its failures still count then
//   CodedError, retry no  comes again after the longest wait, because only a change elsewhere can help
//   anything else thrown  comes again after a wait that doubles with every failure of this key, and no sooner than the API
//                         server asked for, but never after more than the longest wait
//
// A key that comes again keeps its priority. What of an object counts as a failure is the flows' (src/sync/flows/reconciler.ts).

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isAborted, onAbort } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { CodedError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { KubeError } from '../kube/errors.ts';
import { type ControllerMetrics, noControllerMetrics } from './controller-metrics.ts';
import { AlreadyStartedError, TerminalError } from './errors.ts';
import { defaultRetry, ItemExponentialRateLimiter, type RetryOptions } from './rate-limiter.ts';
import type { Reconcile, ReconcileResult } from './reconcile.ts';
import { ReconcileRun, type RunOptions } from './reconcile-run.ts';
import type { Source } from './source.ts';
import { startSource } from './source.ts';
import { LOW_PRIORITY, type Taken, WorkQueue } from './work-queue.ts';

export interface ControllerOptions {
  /** Name in logs and metrics. */
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly logger: Logger;
  /** More can be added with `watch`. */
  readonly sources?: readonly Source[];
  /** 20 unless given. */
  readonly maxConcurrentReconciles?: number;
  /** First and longest wait before a failed key is tried again. */
  readonly retry?: RetryOptions;
  /** After this a reconcile is asked to stop. Unlimited unless given. */
  readonly reconcileTimeoutMs?: number;
  /** Longest wait for the sources; two minutes unless given, Infinity for no limit. */
  readonly cacheSyncTimeoutMs?: number;
  /** Workers start with the sources, instead of when they are synced: the reconcile knows what has to wait. */
  readonly worksWhileSyncing?: boolean;
  /** Asked before every reconcile; false ends the controller before it does anything more. For leadership. */
  readonly mayWork?: () => boolean;
  readonly metrics?: ControllerMetrics;
}

const DEFAULT_WORKERS = 20;
const DEFAULT_SYNC_TIMEOUT_MS = 120_000;
/** Longest stretch of reconciles that wait for nothing before the workers yield to the event loop. */
const SLICE_MS = 10;

type State = 'new' | 'running' | 'stopped';

export class Controller {
  readonly #options: ControllerOptions;
  readonly #retryCapMs: number;
  readonly #limiter: ItemExponentialRateLimiter;
  readonly #metrics: ControllerMetrics;
  readonly #queue: WorkQueue;
  readonly #sources: Source[];
  /** Failures in a row of the keys that wait for another attempt. */
  readonly #failures = new Map<string, Failing>();
  readonly #runs = new Set<ReconcileRun>();
  readonly #runOptions: RunOptions;
  readonly #workers: Promise<void>[] = [];
  #idleWorkers = 0;
  #broken: { readonly error: unknown } | undefined;
  #state: State = 'new';
  #delivered = false;
  #yieldedMs = 0;
  #yielding: Promise<void> | undefined;
  /** Ends the sources: with the signal they were started with, or when the controller stops, whichever is first. */
  readonly #sourcesEnd = new AbortController();
  #sourcesSynced: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, logger, reconcileTimeoutMs: timeoutMs } = options;
    const { sources = [], metrics = noControllerMetrics, retry = defaultRetry } = options;
    this.#sources = [...sources];
    this.#metrics = metrics;
    this.#retryCapMs = retry.capMs;
    this.#runOptions = { clock, logger, timeoutMs, onTimeout: () => metrics.timedOut() };
    this.#limiter = new ItemExponentialRateLimiter(retry);
    this.#queue = new WorkQueue(clock, { metrics: metrics.queue });
    metrics.maxConcurrentReconciles(options.maxConcurrentReconciles ?? DEFAULT_WORKERS);
  }

  get name(): string {
    return this.#options.name;
  }

  enqueue(key: string): void {
    this.#queue.add(key);
  }

  /** Adds a source. After the start it is started at once, and the returned promise waits for it. */
  watch(source: Source): Promise<void> {
    this.#sources.push(source);
    return this.#sourcesSynced === undefined ? Promise.resolve() : this.#startSource(source);
  }

  /**
   * Keys that were handed in and have not been worked on successfully since; undefined until every source has delivered
   * what existed at the start. What is to be looked at again later is not among them.
   */
  unfinished(): ReadonlySet<string> | undefined {
    if (!this.#delivered) return undefined;
    const keys = this.#queue.unfinished();
    for (const key of this.#failures.keys()) keys.add(key);
    return keys;
  }

  /** Number of keys whose last attempt failed and that wait for another. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Tries every failed key at once, for example when the database is back. Fresh events still go first. */
  retryFailed(): void {
    for (const key of this.#failures.keys()) this.#queue.add(key, { priority: LOW_PRIORITY });
  }

  /** Starts the sources and waits for them, without working: so that a standby takes over with full caches. */
  warmup(signal: AbortSignal): Promise<void> {
    this.#sourcesSynced ??= this.#startSources(signal);
    return this.#sourcesSynced;
  }

  /**
   * Works until aborted; resolves when every worker has finished the key it holds. Unless asked to, no worker starts before
   * every source has delivered what existed at the start. Throws CacheSyncTimeoutError, and AlreadyStartedError the second
   * time.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'new') throw new AlreadyStartedError(`Controller ${this.name}`);
    this.#state = 'running';
    const stop = (): void => this.#stop();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      const delivered = this.#deliver(signal);
      if (this.#options.worksWhileSyncing !== true) await delivered;
      if (!isAborted(signal)) await this.#workAll();
      if (this.#broken !== undefined) throw this.#broken.error;
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    try {
      await this.warmup(signal);
      this.#delivered = true;
    } catch (error) {
      this.#break(error);
    }
  }

  #break(error: unknown): void {
    this.#broken ??= { error };
    this.#stop();
  }

  #stop(): void {
    this.#state = 'stopped';
    this.#queue.shutDown();
    this.#sourcesEnd.abort();
    for (const run of this.#runs) run.abort();
  }

  async #startSources(signal: AbortSignal): Promise<void> {
    const takeBack = onAbort(signal, () => this.#sourcesEnd.abort());
    this.#sourcesEnd.signal.addEventListener('abort', takeBack, { once: true });
    await Promise.all(this.#sources.map((source) => this.#startSource(source)));
  }

  #startSource(source: Source): Promise<void> {
    const { name, clock, logger, cacheSyncTimeoutMs = DEFAULT_SYNC_TIMEOUT_MS } = this.#options;
    const context = { queue: this.#queue, clock, logger };
    const options = { controller: name, timeoutMs: cacheSyncTimeoutMs };
    return startSource(source, context, options, this.#sourcesEnd.signal);
  }

  async #workAll(): Promise<void> {
    this.#addWorker();
    // Each has added those it needed by the time it ends.
    for (const worker of this.#workers) await worker;
  }

  /** They come as there is work for them, and stay: hundreds of idle ones for each controller take memory. */
  #addWorker(): void {
    const { maxConcurrentReconciles = DEFAULT_WORKERS } = this.#options;
    if (this.#idleWorkers > 0 || this.#workers.length >= maxConcurrentReconciles) return;
    const worker = this.#work().catch((error: unknown) => this.#break(error));
    this.#workers.push(worker);
  }

  async #work(): Promise<void> {
    const { mayWork = () => true } = this.#options;
    for (;;) {
      this.#idleWorkers += 1;
      const taken = await this.#queue.get();
      this.#idleWorkers -= 1;
      if (taken === undefined) return;
      if (!mayWork()) {
        this.#stop();
        return;
      }
      this.#addWorker();
      this.#metrics.workerStarted();
      try {
        await this.#reconcile(taken);
      } finally {
        this.#metrics.workerFinished();
        this.#queue.done(taken.key);
      }
      const yielding = this.#yield();
      if (yielding !== undefined) await yielding;
    }
  }

  /** Promises that are kept already never let go of the event loop, and the initial list may be long. */
  #yield(): Promise<void> | undefined {
    const { clock } = this.#options;
    if (clock.monotonicMs() - this.#yieldedMs < SLICE_MS) return undefined;
    // One for all workers: together they have one slice.
    this.#yielding ??= yieldToEventLoop().then(() => {
      this.#yieldedMs = clock.monotonicMs();
      this.#yielding = undefined;
    });
    return this.#yielding;
  }

  async #reconcile(taken: Taken): Promise<void> {
    const run = new ReconcileRun(taken.key, this.#runOptions);
    this.#runs.add(run);
    try {
      this.#settle(taken, run, await this.#options.reconcile(taken.key, run));
    } catch (error) {
      this.#fail(taken, run, error);
    } finally {
      this.#runs.delete(run);
      run.end();
    }
  }

  #settle({ key, priority }: Taken, run: ReconcileRun, result: ReconcileResult): void {
    const failing = this.#failures.get(key);
    this.#failures.delete(key);
    if (failing !== undefined) {
      run.logger.info({ failures: failing.count, after: failing.reason }, 'Reconciled after failures');
    }
    this.#limiter.forget(key);
    switch (result.kind) {
      case 'done':
        this.#metrics.reconciled('success', run.seconds);
        return;
      case 'requeue-after':
        this.#metrics.reconciled('requeue_after', run.seconds);
        this.#queue.add(key, { afterMs: result.delayMs, priority: result.priority ?? priority });
    }
  }

  /** A server may ask for any wait; one beyond the cap would mean never. */
  #waitMs(key: string, error: unknown): number {
    return Math.min(this.#retryCapMs, Math.max(this.#limiter.when(key), askedMs(error)));
  }

  #fail({ key, priority }: Taken, run: ReconcileRun, error: unknown): void {
    this.#metrics.reconciled('error', run.seconds);
    if (error instanceof TerminalError) {
      this.#failures.delete(key);
      this.#metrics.failedTerminally();
      run.logger.error({ err: error }, 'Reconcile failed for good');
      return;
    }
    if (isPanic(error)) this.#metrics.panicked();
    const before = this.#failures.get(key);
    const reason = error instanceof CodedError ? error.code : messageOf(error);
    this.#failures.set(key, { count: (before?.count ?? 0) + 1, reason });
    const hopeless = error instanceof CodedError && error.retry === 'no';
    const retryInMs = hopeless ? this.#retryCapMs : this.#waitMs(key, error);
    this.#queue.add(key, { priority, afterMs: retryInMs });
    // A failure for another reason is news; the repeats of an outage are not, and neither is what a stop breaks off.
    const level = before?.reason !== reason && this.#state === 'running' ? 'warn' : 'debug';
    run.logger[level]({ err: error, retryInMs }, 'Reconcile failed; trying again');
  }
}

/** A key whose last attempt failed. */
interface Failing {
  readonly count: number;
  /** A stable code where there is one: of the last attempt. */
  readonly reason: string;
}

/** Milliseconds for which the API server asked not to be asked again. */
function askedMs(error: unknown): number {
  return error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
}

/** A mistake in the program rather than a failure it foresaw. JavaScript throws both; only these kinds give it away. */
function isPanic(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  return thrown instanceof TypeError || thrown instanceof ReferenceError || thrown instanceof RangeError;
}
