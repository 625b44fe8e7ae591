import type { Clock } from '../../base/clock.ts';

export interface EvictionPaceOptions {
  /** Evictions a second; 0 for no limit. */
  readonly perSecond: number;
  readonly paused: () => boolean;
  readonly clock: Clock;
}

/** A turn that is not taken within so long is given up, for objects that are not evicted in the end. */
const FORGET_MS = 60_000;

/** Gives every eviction its turn, one after the other at an even rate. */
export class EvictionPace {
  readonly #options: EvictionPaceOptions;
  /** uid → when its turn is, on the monotonic clock; in order of time. */
  readonly #turns = new Map<string, number>();
  #nextMs = 0;

  constructor(options: EvictionPaceOptions) {
    this.#options = options;
  }

  paused(): boolean {
    return this.#options.paused();
  }

  /** Milliseconds until the turn of this object; 0 takes it. */
  waitMs(uid: string): number {
    const { perSecond, clock } = this.#options;
    if (perSecond === 0) return 0;
    const nowMs = clock.monotonicMs();
    this.#forgetOld(nowMs);
    const turnMs = this.#turns.get(uid) ?? this.#newTurn(uid, nowMs, 1000 / perSecond);
    if (turnMs > nowMs) return turnMs - nowMs;
    this.#turns.delete(uid);
    return 0;
  }

  #newTurn(uid: string, nowMs: number, gapMs: number): number {
    const turnMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = turnMs + gapMs;
    this.#turns.set(uid, turnMs);
    return turnMs;
  }

  #forgetOld(nowMs: number): void {
    for (const [uid, turnMs] of this.#turns) {
      if (nowMs - turnMs < FORGET_MS) return;
      this.#turns.delete(uid);
    }
  }
}
