import { onAbort } from '../base/abort.ts';
import type { WatchedWork } from '../base/watchdog.ts';

/** For work that no watchdog knows. */
export const unwatched: WatchedWork = { progress: () => undefined, done: () => undefined };

/** A call that the watchdog breaks off where nothing arrives in time. */
export class SupervisedCall {
  readonly #register: (breakOff: () => void) => WatchedWork;
  readonly #stop = new AbortController();
  readonly #release: () => void;
  #work = unwatched;

  constructor(register: (breakOff: () => void) => WatchedWork, signal: AbortSignal) {
    this.#register = register;
    this.#release = onAbort(signal, () => this.#stop.abort());
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The server's time begins. */
  expect(): void {
    this.#work = this.#register(() => this.#stop.abort());
  }

  progress(): void {
    this.#work.progress();
  }

  answered(): void {
    this.#work.done();
  }

  /** To be called however it ended. */
  end(): void {
    this.#work.done();
    this.#stop.abort();
    this.#release();
  }
}
