import { type Clock, systemClock } from '../../src/base/clock.ts';

export interface JumpingClock {
  readonly clock: Clock;
  /** The time of day is set. */
  readonly wall: (byMs: number) => void;
  /** The machine slept: time since the start has gone on, and timers have not. */
  readonly monotonic: (byMs: number) => void;
}

/** The system's clock, which can be made to jump. */
export function jumpingClock(): JumpingClock {
  let wallMs = 0;
  let monotonicMs = 0;
  return {
    clock: {
      now: () => new Date(systemClock.now().getTime() + wallMs),
      monotonicMs: () => systemClock.monotonicMs() + monotonicMs,
      schedule: (delayMs, action) => systemClock.schedule(delayMs, action),
    },
    wall: (byMs) => void (wallMs += byMs),
    monotonic: (byMs) => void (monotonicMs += byMs),
  };
}
