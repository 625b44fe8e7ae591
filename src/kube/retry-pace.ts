// How long a reflector waits until it asks the API server again.
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { isKubeError, KubeError } from './errors.ts';

const backoff = { baseMs: 800, capMs: 30_000, jitter: 1 };
/** A server that fails at once is down or starting: it costs nothing to ask it again soon, and it is back soon. */
const AT_ONCE_MS = 1000;
const AT_ONCE_CAP_MS = 5000;
/** Without trouble for this long, the backoff starts from the beginning. */
const BACKOFF_RESET_MS = 120_000;

export class RetryPace {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  /** When the server was asked for what is under way. */
  #askedMs = 0;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** To be called when the server is asked. Returns the time, in milliseconds. */
  asks(): number {
    this.#askedMs = this.#clock.monotonicMs();
    return this.#askedMs;
  }

  /** Whether this is the first failure in a while; forgets older ones. */
  isNews(): boolean {
    if (this.#clock.monotonicMs() - this.#lastFailureMs > BACKOFF_RESET_MS) this.#failures = 0;
    return this.#failures === 0;
  }

  noteFailure(): void {
    this.#failures += 1;
    this.#lastFailureMs = this.#clock.monotonicMs();
  }

  /** What happens once is followed up at once; what happens again and again waits longer each time. */
  async followUp(signal: AbortSignal): Promise<void> {
    if (this.isNews()) this.noteFailure();
    else await this.wait(signal, undefined);
  }

  async wait(signal: AbortSignal, error: unknown): Promise<void> {
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.isNews();
    const failedAtOnce = isKubeError(error, 'Unavailable') && this.#clock.monotonicMs() - this.#askedMs < AT_ONCE_MS;
    const pace = failedAtOnce ? { ...backoff, capMs: AT_ONCE_CAP_MS } : backoff;
    const delay = Math.max(asked, backoffMs(pace, this.#failures, this.#random));
    this.noteFailure();
    await sleep(this.#clock, delay, signal);
  }
}
