// Places for requests, shared by users. One user never takes all: at most half as many as are free, so
// of 64 places a first user gets 22, a second one 14, a third one 10, and so on.
import { onAbort } from '../base/abort.ts';

interface Waiter {
  readonly user: string;
  readonly start: () => void;
}

export class Places {
  readonly #most: number;
  readonly #mostEach: number;
  /** Places held, by user; users without one are left out. */
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  #free: number;

  /** `mostEach`: of one user, however many are free. */
  constructor(most: number, mostEach: number = most) {
    this.#most = most;
    this.#mostEach = mostEach;
    this.#free = most;
  }

  get most(): number {
    return this.#most;
  }

  /** Whether the user has one place more, which is to be given back. */
  tryTake(user: string): boolean {
    const held = this.#held.get(user) ?? 0;
    const has = held === 0 ? this.#free > 0 : held * 2 < this.#free;
    if (!has || held >= this.#mostEach) return false;
    this.#held.set(user, held + 1);
    this.#free -= 1;
    return true;
  }

  give(user: string): void {
    const held = this.#held.get(user) ?? 0;
    if (held > 1) this.#held.set(user, held - 1);
    else this.#held.delete(user);
    this.#free += 1;
    for (const waiter of this.#waiting) {
      if (this.#free === 0) return;
      if (!this.tryTake(waiter.user)) continue;
      this.#waiting.delete(waiter);
      waiter.start();
    }
  }

  /** Runs the work in a place, once there is one: first come, first served, except for users with a full share. */
  async around<T>(user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#wait(user, signal);
    try {
      return await work();
    } finally {
      this.give(user);
    }
  }

  async #wait(user: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake(user)) return;
    const turn = Promise.withResolvers<undefined>();
    const waiter = { user, start: () => turn.resolve(undefined) };
    this.#waiting.add(waiter);
    // A waiter that got its place keeps it.
    const forget = onAbort(signal, () => {
      if (this.#waiting.delete(waiter)) turn.reject(signal.reason as Error);
    });
    try {
      await turn.promise;
    } finally {
      forget();
    }
  }
}
