// The memory for bodies that are being received or answered. Bodies wait until there is room, the smallest first, and a
// slow one loses its room to one that waits: a client that sends slowly holds up none that does not.
import type { Clock } from '../src/base/clock.ts';

/** A body with its declared length. */
export interface Visitor {
  readonly bytes: number;
  /** How much of it has come; equal to `bytes` once it cannot be sent away any more. */
  received(): number;
  /** There is room: it may be read. */
  admit(): void;
  /** There is none for it, or none any more; nothing of it may be kept. */
  refuse(): void;
}

interface Stay {
  readonly visitor: Visitor;
  readonly sinceMs: number;
}

/** Requests that wait hold up to 128 KiB each that is not read yet. */
const MOST_WAITING = 32;
const LONGEST_WAIT_MS = 1000;
/** A body of an API server is there sooner than this, on a busy machine too; if not, the call is repeated. */
const GRACE_MS = 500;
const LOOK_MS = 100;

export class BodyRoom {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #inside = new Map<Visitor, Stay>();
  #waiting: Stay[] = [];
  #used = 0;
  #looking = false;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  get used(): number {
    return this.#used;
  }

  /** Admits it now or later, or refuses it; then, or before, it leaves. */
  enter(visitor: Visitor): void {
    const stay = { visitor, sinceMs: this.#clock.monotonicMs() };
    const after = this.#waiting.findIndex((other) => other.visitor.bytes > visitor.bytes);
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, stay);
    this.#admit();
    if (this.#waiting.length > MOST_WAITING) this.#waiting.pop()?.visitor.refuse();
    this.#watch();
  }

  /** It needs no room any more; once more does nothing. */
  leave(visitor: Visitor): void {
    this.#waiting = this.#waiting.filter((stay) => stay.visitor !== visitor);
    if (!this.#inside.delete(visitor)) return;
    this.#used -= visitor.bytes;
    this.#admit();
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.visitor); next = this.#waiting[0]) {
      const { visitor } = next;
      this.#waiting.shift();
      this.#inside.set(visitor, { visitor, sinceMs: this.#clock.monotonicMs() });
      this.#used += visitor.bytes;
      visitor.admit();
    }
  }

  #fits({ bytes }: Visitor): boolean {
    return this.#used + bytes <= this.#limit;
  }

  #watch(): void {
    if (this.#looking || this.#waiting.length === 0) return;
    this.#looking = true;
    this.#clock.schedule(LOOK_MS, () => {
      this.#looking = false;
      this.#makeRoom();
      this.#watch();
    });
  }

  #makeRoom(): void {
    const now = this.#clock.monotonicMs();
    for (const { visitor, sinceMs } of this.#waiting) {
      if (now - sinceMs > LONGEST_WAIT_MS) this.#sendAway(visitor);
    }
    for (let slow = this.#slowest(now); slow !== undefined && this.#waiting.length > 0; slow = this.#slowest(now)) {
      this.#sendAway(slow);
    }
  }

  #sendAway(visitor: Visitor): void {
    this.leave(visitor);
    visitor.refuse();
  }

  /** Of those that had their time, the one that came at the lowest rate. */
  #slowest(now: number): Visitor | undefined {
    const rate = ({ visitor, sinceMs }: Stay): number => visitor.received() / (now - sinceMs);
    return [...this.#inside.values()]
      .filter(({ visitor, sinceMs }) => visitor.received() < visitor.bytes && now - sinceMs > GRACE_MS)
      .toSorted((left, right) => rate(left) - rate(right))[0]?.visitor;
  }
}
