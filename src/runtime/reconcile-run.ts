import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { LogFields, Logger } from '../base/logger.ts';
import { ReconcileTimeoutError } from './errors.ts';
import type { ReconcileContext } from './reconcile.ts';

/** The same for all runs of a controller. */
export interface RunOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Undefined: it may take as long as it takes. */
  readonly timeoutMs: number | undefined;
  readonly onTimeout: () => void;
}

/**
 * One run of a reconcile. A promise cannot be killed: after the timeout the run is asked to stop, and its worker and its
 * key stay taken until it does, because a second run beside it would break the one guarantee reconciles rely on.
 */
export class ReconcileRun implements ReconcileContext {
  readonly #key: string;
  readonly #options: RunOptions;
  /** Made when the reconcile asks for its signal: many never do, and it is what a run costs most. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason?: Error } | undefined;
  readonly #startedMs: number;
  #logger: Logger | undefined;
  #noted: LogFields = {};
  #id: string | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(key: string, options: RunOptions) {
    this.#key = key;
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    if (options.timeoutMs !== undefined) this.#watch(options.timeoutMs, () => this.#expire());
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#options.logger.child({ key: this.#key, reconcileId: this.reconcileId, ...this.#noted });
    return this.#logger;
  }

  note(fields: LogFields): void {
    this.#noted = { ...this.#noted, ...fields };
    this.#logger = undefined;
  }

  get reconcileId(): string {
    this.#id ??= randomUUID();
    return this.#id;
  }

  get seconds(): number {
    return (this.#options.clock.monotonicMs() - this.#startedMs) / 1000;
  }

  /** The controller stops. */
  abort(): void {
    this.#end({});
  }

  /** The function has returned. */
  end(): void {
    this.#cancelTimer?.();
  }

  #watch(timeoutMs: number, onTimer: () => void): void {
    this.#cancelTimer = this.#options.clock.schedule(timeoutMs, () => {
      onTimer();
      this.#watch(timeoutMs, () => this.#stillRuns());
    });
  }

  #expire(): void {
    const { timeoutMs = 0, onTimeout } = this.#options;
    this.logger.warn({ seconds: this.seconds }, 'Reconcile takes too long; asking it to stop');
    onTimeout();
    this.#end({ reason: new ReconcileTimeoutError(timeoutMs) });
  }

  #end(aborted: { readonly reason?: Error }): void {
    this.#aborted ??= aborted;
    this.#controller?.abort(aborted.reason);
  }

  #stillRuns(): void {
    this.logger.warn({ seconds: this.seconds }, 'Reconcile was asked to stop and still runs; its key stays locked');
  }
}
