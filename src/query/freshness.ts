// How new an answer is: up to which resourceVersion the store is complete, and how long ago that was noted. Every answer
// about objects says so in its head.
import type { ServerResponse } from 'node:http';
import type { KindDefinition } from '../api/kind.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { StoredPosition } from '../storage/metadata-storage.ts';
import { BoundedCache } from './bounded-cache.ts';
import { QueryError } from './errors.ts';
import type { QueryStorage } from './options.ts';
import type { RequestTime } from './request-time.ts';
import { readMoment } from './watch/moments.ts';

export const POSITION_HEADER = 'Ingester-Position';
export const LAG_HEADER = 'Ingester-Lag-Seconds';

export interface FreshnessOptions {
  readonly storage: Pick<QueryStorage, 'until'>;
  readonly clock: Clock;
  /** A store that was last known to be complete longer ago is worth a warning. */
  readonly staleMs: number;
}

const POLL_MS = 200;
/** A position that is a little old promises a little less, and is never wrong. */
const KEEP_MS = 250;

export class Freshness {
  readonly #options: FreshnessOptions;
  readonly #positions: BoundedCache<readonly StoredPosition[]>;

  constructor(options: FreshnessOptions) {
    this.#options = options;
    this.#positions = new BoundedCache({ clock: options.clock, capacity: 1, keepMs: KEEP_MS });
  }

  /** Undefined where no reconciler has ever noted one. */
  async position({ kind }: KindDefinition, signal: AbortSignal): Promise<StoredPosition | undefined> {
    const { storage } = this.#options;
    const positions = await this.#positions.get('all', (waited) => storage.until(waited).positions(), signal);
    return positions.find((position) => position.kind === kind);
  }

  /**
   * Seconds since the store was known to be complete. On a kind without changes it rises to a minute and falls again:
   * only the bookmark that the API server sends once a minute proves that nothing was missed.
   */
  lagSeconds({ at }: StoredPosition): number {
    return Math.max(0, Math.round((this.#options.clock.now().getTime() - Date.parse(at)) / 100) / 10);
  }

  /**
   * Waits until the store is at least as new as asked for, and says in the head of the answer how new it is. To be asked
   * before the objects are read: what comes in between only makes them newer. Gives the position, '' for none.
   */
  async tell(
    kind: KindDefinition,
    minimum: string | undefined,
    { response, time }: { readonly response: ServerResponse; readonly time: RequestTime },
  ): Promise<string> {
    const position = await this.#wait(kind, minimum, time);
    const warning = this.warningOf(kind, position);
    if (warning !== undefined) warn(response, warning);
    if (position === undefined) return '';
    response.setHeader(POSITION_HEADER, position.resourceVersion);
    response.setHeader(LAG_HEADER, String(this.lagSeconds(position)));
    return position.resourceVersion;
  }

  /** Undefined where the store is known to be complete. */
  warningOf({ kind }: KindDefinition, position: StoredPosition | undefined): string | undefined {
    if (position === undefined)
      return `nothing says how complete the stored objects of ${kind} are: no reconciler has run`;
    const lag = this.lagSeconds(position);
    if (lag * 1000 <= this.#options.staleMs) return undefined;
    return `the stored objects of ${kind} were last known to be complete ${Math.round(lag)} s ago`;
  }

  async #wait(
    kind: KindDefinition,
    minimum: string | undefined,
    time: RequestTime,
  ): Promise<StoredPosition | undefined> {
    for (;;) {
      const position = await time.within(this.position(kind, time.signal));
      // A moment is of this store, and past.
      if (minimum === undefined || readMoment(minimum) !== undefined) return position;
      if (position !== undefined && BigInt(position.resourceVersion) >= BigInt(minimum)) return position;
      await sleep(this.#options.clock, POLL_MS, time.signal);
      if (!time.signal.aborted) continue;
      const reached = position?.resourceVersion ?? 'none';
      throw new QueryError('Timeout', `the store has reached resourceVersion ${reached}, not ${minimum} yet`, {
        retryAfterSeconds: 1,
      });
    }
  }
}

/** kubectl shows it. Everything in it is plain text of ours. */
export function warn(response: ServerResponse, message: string): void {
  response.appendHeader('Warning', `299 - "${message}"`);
}
