import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly action: () => void;
}

/** A clock that moves only when told to. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  constructor(nowMs = 0) {
    this.#nowMs = nowMs;
  }

  now(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, action: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(delayMs, 0), action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time on, firing what falls due in order, and lets promises settle after each. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#nowMs + milliseconds;
    await settle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#nowMs = timer.dueMs;
      timer.action();
      await settle();
    }
    this.#nowMs = end;
    await settle();
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ dueMs }) => dueMs <= end).sort((left, right) => left.dueMs - right.dueMs)[0];
  }
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}
