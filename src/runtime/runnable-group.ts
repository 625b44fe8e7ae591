import { untilAborted } from '../base/abort.ts';

/** Runnables that start and stop together. What is added later runs at once; after the stop nothing can be added. */
export class RunningGroup {
  readonly #onFailure: (error: unknown) => void;
  readonly #stop = new AbortController();
  readonly #waiting: Runnable[] = [];
  readonly #running = new Map<Promise<void>, string>();
  #state: 'waiting' | 'started' | 'stopped' = 'waiting';

  /** `onFailure` is called for each runnable that throws, also while it stops. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Names of what has not ended. */
  get running(): readonly string[] {
    return [...this.#running.values()];
  }

  /** False if the group has stopped. */
  add(runnable: Runnable): boolean {
    if (this.#state === 'stopped') return false;
    if (this.#state === 'waiting') this.#waiting.push(runnable);
    else void this.#start(runnable);
    return true;
  }

  /** Resolves when all are ready, or the group stops. */
  async start(): Promise<void> {
    if (this.#state !== 'waiting') return;
    this.#state = 'started';
    await Promise.all(this.#waiting.splice(0).map((runnable) => this.#start(runnable)));
  }

  /** Tells all to stop, and resolves when they have. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#stop.abort();
    await Promise.all(this.#running.keys());
  }

  async #start(runnable: Runnable): Promise<void> {
    const running = this.#run(runnable);
    this.#running.set(running, runnable.name);
    void running.then(() => this.#running.delete(running));
    if (runnable.waitUntilReady === undefined) return;
    const ready = runnable.waitUntilReady(this.#stop.signal).catch((error: unknown) => this.#report(error));
    await Promise.race([ready, untilAborted(this.#stop.signal)]);
  }

  async #run(runnable: Runnable): Promise<void> {
    try {
      await runnable.run(this.#stop.signal);
    } catch (error) {
      this.#report(error);
    }
  }

  /** That a stop breaks something off is what a stop is for. */
  #report(error: unknown): void {
    if (this.#stop.signal.aborted && isAbort(error, this.#stop.signal)) return;
    this.#onFailure(error);
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

/**
 * When something runs. They start in this order, each group when the one before is ready, and stop in another:
 * - `server`: metrics, health; first to start, last to stop, so that a start and a stop can be watched
 * - `webhook`: before the caches, whose first list may need a conversion
 * - `cache`: informers; ready when they are synced
 * - `always`: whatever else does not need leadership
 * - `leader`: only while this process leads; what does not say otherwise
 */
export type RunnableGroup = 'server' | 'webhook' | 'cache' | 'always' | 'leader';

export interface Runnable {
  /** For logs and errors. */
  readonly name: string;
  /** `leader` unless given. */
  readonly group?: RunnableGroup;
  /** Runs until aborted. Returning earlier is no error; throwing ends the program. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the next group may start. Ready at once unless given. */
  waitUntilReady?(signal: AbortSignal): Promise<void>;
  /** Of the group `leader`: prepares, before leadership is won, what needs none. */
  readonly warmup?: (signal: AbortSignal) => Promise<void>;
}
