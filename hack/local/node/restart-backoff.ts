// How long a container that ended waits before it is started again, as the kubelet counts it: the first restart comes at
// once, the second after the base, each further one after twice the wait before, up to the longest. A container that was
// left alone for twice the longest wait begins anew.
export class RestartBackoff {
  readonly #baseMs: number;
  readonly #longestMs: number;
  #delayMs = 0;
  #lastStartMs = 0;

  constructor(baseMs: number, longestMs: number) {
    this.#baseMs = baseMs;
    this.#longestMs = longestMs;
  }

  /** The wait that applies now. */
  get delayMs(): number {
    return this.#delayMs;
  }

  /** Milliseconds until it may start; 0 for now. Times are of one clock. */
  remainingMs(finishedMs: number, nowMs: number): number {
    if (this.#delayMs > 0 && nowMs - this.#lastStartMs > 2 * this.#longestMs) this.#delayMs = 0;
    return Math.max(0, finishedMs + this.#delayMs - nowMs);
  }

  /** To be called with every start but the first. */
  restarted(nowMs: number): void {
    this.#lastStartMs = nowMs;
    this.#delayMs = this.#delayMs === 0 ? this.#baseMs : Math.min(this.#delayMs * 2, this.#longestMs);
  }
}
