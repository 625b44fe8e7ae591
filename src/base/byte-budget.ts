import { Turns } from './turns.ts';

/**
 * Bytes that may be in use at once. A caller that needs more than the budget gets all of it alone: nothing is too large
 * to be worked on.
 */
export class ByteBudget {
  readonly #limit: number;
  readonly #waiting = new Turns<{ readonly bytes: number; readonly start: () => void }>();
  #used = 0;
  #given = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** Bytes that were ever given back: while it grows, the work goes on. */
  get given(): number {
    return this.#given;
  }

  /** Which part is used: 1 where all of it is, and more where one caller needs more than there is. */
  get usedPart(): number {
    return this.#used / this.#limit;
  }

  /** Takes the bytes, to be given back later; false where they are not there now, or others wait for them. */
  tryTake(bytes: number): boolean {
    if (this.#waiting.next !== undefined || !this.#fits(bytes)) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#given += bytes;
    for (let next = this.#waiting.next; next !== undefined && this.#fits(next.bytes); next = this.#waiting.next) {
      this.#waiting.shift();
      this.#used += next.bytes;
      next.start();
    }
  }

  /** Runs the work with the bytes, once they are there. Of those that wait for them, groups take turns. */
  async around<T>(group: string, bytes: number, work: () => Promise<T>): Promise<T> {
    if (!this.tryTake(bytes)) await new Promise<void>((start) => this.#waiting.push(group, { bytes, start }));
    try {
      return await work();
    } finally {
      this.give(bytes);
    }
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#limit;
  }
}
