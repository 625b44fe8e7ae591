// Work that must make progress: a list, a watch, a reconcile, a write. What makes none for its time is said in the log, by
// readiness and by a metric, and is broken off. Registering costs next to nothing, so that every write can.
import { type Clock, repeat } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

export interface WatchedWork {
  /** Something came, or was done: its time begins anew. */
  progress(): void;
  /** It has ended, be it well or not. Calling it again is harmless. */
  done(): void;
}

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of each work that stalls, once; for a metric. */
  readonly onStalled?: (name: string) => void;
}

/** How often the work is looked at: what stalls is known this much later at most. */
const PERIOD_MS = 5000;
/** Longest wait of ours between two attempts at the same work. */
const LONGEST_BACKOFF_MS = 60_000;

export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #work = new Map<string, Set<Work>>();
  /** Names whose work was broken off and has not got on since, and until when that is worth saying. */
  readonly #stalled = new Map<string, number>();

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Makes the names known before their first work, so that their series exist. */
  prepare(names: readonly string[]): void {
    for (const name of names) this.#named(name);
  }

  /**
   * Work begins that has to make progress at least every `limitMs`. Many may have one name, which is a label of metrics:
   * it says what kind of work it is, never which object. `breakOff` is called once, when the time is over; where it is
   * missing, the deadlines of the calls that the work consists of end it. The work stays known until `done`.
   */
  register(name: string, limitMs: number, breakOff?: () => void): WatchedWork {
    const { clock } = this.#options;
    const siblings = this.#named(name);
    const work = new Work({ clock, limitMs, breakOff, onProgress: () => this.#gotOn(name) });
    work.leave = () => siblings.delete(work);
    siblings.add(work);
    return work;
  }

  /** Runs the work, which has to end in time. */
  async around<T>(name: string, limitMs: number, work: () => Promise<T>): Promise<T> {
    const watched = this.register(name, limitMs);
    try {
      return await work();
    } finally {
      watched.done();
    }
  }

  /** What is stalled now, for readiness; undefined where everything gets on. */
  get problem(): string | undefined {
    const problems = [...this.#work].flatMap(([name, all]) => {
      const silentMs = longest([...all].filter((work) => work.isOver));
      if (silentMs !== undefined) return [`${name} has made no progress for ${Math.round(silentMs / 1000)} s`];
      return this.#isStalled(name) ? [`${name} was broken off and has not got on since`] : [];
    });
    return problems.length === 0 ? undefined : problems.join('; ');
  }

  /** By name, how long the work that is silent for longest has been; 0 where none is under way. */
  silentSeconds(): ReadonlyMap<string, number> {
    return new Map([...this.#work].map(([name, all]) => [name, (longest([...all]) ?? 0) / 1000]));
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat({ clock: this.#options.clock, periodMs: PERIOD_MS, signal }, () => {
      for (const [name, all] of this.#work) for (const work of all) if (work.isOver) this.#breakOff(name, work);
    });
  }

  #breakOff(name: string, work: Work): void {
    if (work.brokenOff) return;
    const { clock, logger, onStalled } = this.#options;
    work.brokenOff = true;
    this.#stalled.set(name, clock.monotonicMs() + 2 * work.limitMs + LONGEST_BACKOFF_MS);
    onStalled?.(name);
    const what = work.breakOff === undefined ? 'the deadlines of its calls end it' : 'breaking it off';
    logger.error({ work: name, seconds: Math.round(work.silentMs / 1000) }, `Work makes no progress; ${what}`);
    try {
      work.breakOff?.();
    } catch (error) {
      logger.error({ work: name, problem: messageOf(error) }, 'Work that makes no progress could not be broken off');
    }
  }

  #isStalled(name: string): boolean {
    return (this.#stalled.get(name) ?? 0) > this.#options.clock.monotonicMs();
  }

  #gotOn(name: string): void {
    if (this.#stalled.size > 0) this.#stalled.delete(name);
  }

  #named(name: string): Set<Work> {
    const known = this.#work.get(name);
    if (known !== undefined) return known;
    const all = new Set<Work>();
    this.#work.set(name, all);
    return all;
  }
}

interface WorkOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly breakOff: (() => void) | undefined;
  readonly onProgress: () => void;
}

class Work implements WatchedWork {
  readonly #options: WorkOptions;
  #lastMs: number;
  brokenOff = false;
  leave: () => void = () => undefined;

  constructor(options: WorkOptions) {
    this.#options = options;
    this.#lastMs = options.clock.monotonicMs();
  }

  get limitMs(): number {
    return this.#options.limitMs;
  }

  get breakOff(): (() => void) | undefined {
    return this.#options.breakOff;
  }

  get silentMs(): number {
    return this.#options.clock.monotonicMs() - this.#lastMs;
  }

  get isOver(): boolean {
    return this.silentMs >= this.limitMs;
  }

  progress(): void {
    this.#lastMs = this.#options.clock.monotonicMs();
    if (!this.brokenOff) this.#options.onProgress();
  }

  done(): void {
    this.leave();
    if (!this.brokenOff) this.#options.onProgress();
  }
}

function longest(works: readonly Work[]): number | undefined {
  return works.length === 0 ? undefined : Math.max(...works.map(({ silentMs }) => silentMs));
}
