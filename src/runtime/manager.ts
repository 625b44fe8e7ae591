// Starts and stops what a program consists of, in the one order that is safe.
//
//   start:  servers ▶ webhooks ▶ caches (until synced) ▶ always ▶ warm-up ▶ leader, once elected
//   stop:   always, warm-up ▶ leader ▶ caches ▶ webhooks ▶ servers ▶ the lease is given up
//
// The lease goes last, so that no other replica leads while this process still works. One deadline covers the whole
// stop. A lost lease has no grace: another replica may lead already, so `run` throws at once and the process must end.

import { onAbort } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import {
  AlreadyStartedError,
  GracefulShutdownTimeoutError,
  LeaderElectionLostError,
  ManagerStoppingError,
  RunnablesFailedError,
} from './errors.ts';
import type { Runnable, RunnableGroup } from './runnable-group.ts';
import { RunningGroup } from './runnable-group.ts';

export interface Election {
  /**
   * Competes until aborted. Calls `onLeading` when leadership is won. Resolves with `lost` as soon as it may be lost, and
   * with `stopped` after the signal, when leadership is given up.
   */
  run(signal: AbortSignal, onLeading: () => void): Promise<'lost' | 'stopped'>;
  /** Ends without giving the lease up, because this process may still be working; it expires by itself. */
  abandon(): void;
}

export interface ManagerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined: this process leads from the start. */
  readonly election?: Election;
  /** For the whole stop; 30 s unless given. 0 does not wait at all, a negative value waits for ever. */
  readonly gracefulShutdownTimeoutMs?: number;
}

const DEFAULT_SHUTDOWN_MS = 30_000;

type State = 'new' | 'running' | 'stopping';
type End = { readonly why: 'stopped' } | { readonly why: 'failed' } | { readonly why: 'lost' };

export class Manager {
  readonly #options: ManagerOptions;
  readonly #groups: Readonly<Record<RunnableGroup | 'warmup', RunningGroup>>;
  readonly #errors: unknown[] = [];
  readonly #end = Promise.withResolvers<End>();
  readonly #stopElection = new AbortController();
  #election: Promise<void> = Promise.resolve();
  #leads = false;
  #state: State = 'new';

  constructor(options: ManagerOptions) {
    this.#options = options;
    const group = (): RunningGroup => new RunningGroup((error) => this.#fail(error));
    this.#groups = {
      server: group(),
      webhook: group(),
      cache: group(),
      always: group(),
      warmup: group(),
      leader: group(),
    };
  }

  /** Before the start, or while running: then it starts at once, or when this process leads. */
  add(runnable: Runnable): void {
    const { name, group = 'leader', warmup } = runnable;
    if (this.#state === 'stopping' || !this.#groups[group].add(runnable)) throw new ManagerStoppingError(name);
    if (warmup !== undefined) this.#groups.warmup.add(asRunnable(name, warmup));
  }

  /**
   * Runs everything until aborted, then stops everything and resolves. Throws what a runnable threw, which ends the
   * others too; RunnablesFailedError for several errors; LeaderElectionLostError without waiting for anything.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'new') throw new AlreadyStartedError('The manager');
    this.#state = 'running';
    const takeBack = onAbort(signal, () => this.#end.resolve({ why: 'stopped' }));
    void this.#startAll();
    const end = await this.#end.promise;
    takeBack();
    this.#state = 'stopping';
    if (end.why === 'lost') {
      this.#abandon();
      throw new LeaderElectionLostError();
    }
    await this.#stopAll();
    if (this.#errors.length > 1) throw new RunnablesFailedError(this.#errors);
    if (this.#errors.length === 1) throw this.#errors[0];
  }

  /** Its parts go on in the background if the end comes meanwhile; each checks for itself. */
  async #startAll(): Promise<void> {
    for (const group of ['server', 'webhook', 'cache', 'always', 'warmup'] as const) {
      if (!this.#goesOn()) return;
      await this.#groups[group].start();
    }
    if (this.#goesOn()) this.#election = this.#compete();
  }

  /** A function, because the state changes during a wait, which the compiler does not believe of a property. */
  #goesOn(): boolean {
    return this.#state === 'running';
  }

  async #compete(): Promise<void> {
    const { election } = this.#options;
    const lead = (): void => {
      if (this.#state !== 'running') return;
      this.#leads = true;
      void this.#groups.leader.start();
    };
    if (election === undefined) {
      lead();
      return;
    }
    try {
      const outcome = await election.run(this.#stopElection.signal, lead);
      if (outcome === 'lost') this.#end.resolve({ why: 'lost' });
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#errors.push(error);
    this.#end.resolve({ why: 'failed' });
  }

  /** Not awaited: the process is about to end. */
  #abandon(): void {
    for (const group of Object.values(this.#groups)) void group.stop();
    this.#options.election?.abandon();
  }

  async #stopAll(): Promise<void> {
    const { clock, logger, gracefulShutdownTimeoutMs: timeoutMs = DEFAULT_SHUTDOWN_MS } = this.#options;
    // A replica that does not lead must not begin to while it stops.
    if (!this.#leads) this.#stopElection.abort();
    const stopped = this.#stopInOrder();
    if (timeoutMs < 0) {
      await stopped;
      return;
    }
    const late = Promise.withResolvers<'late'>();
    const cancel = timeoutMs === 0 ? undefined : clock.schedule(timeoutMs, () => late.resolve('late'));
    if (timeoutMs === 0) late.resolve('late');
    const outcome = await Promise.race([stopped, late.promise]);
    cancel?.();
    if (outcome !== 'late') return;
    const running = Object.values(this.#groups).flatMap((group) => group.running);
    this.#abandon();
    if (timeoutMs === 0 || running.length === 0) return;
    logger.error({ running }, 'The stop took too long');
    this.#errors.push(new GracefulShutdownTimeoutError(timeoutMs, running));
  }

  async #stopInOrder(): Promise<void> {
    await Promise.all([this.#groups.always.stop(), this.#groups.warmup.stop()]);
    for (const group of ['leader', 'cache', 'webhook', 'server'] as const) await this.#groups[group].stop();
    this.#stopElection.abort();
    await this.#election;
  }
}

function asRunnable(name: string, run: (signal: AbortSignal) => Promise<void>): Runnable {
  // A later group waits for the warm-up, so what runs and what makes it ready are the same promise.
  const warm = Promise.withResolvers<undefined>();
  return {
    name: `${name} (warm-up)`,
    run: (signal) => run(signal).finally(() => warm.resolve(undefined)),
    waitUntilReady: () => warm.promise.then(() => undefined),
  };
}
