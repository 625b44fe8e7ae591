// The reviews that are sent to the API server (TokenReview, SubjectAccessReview), with limits: neither one
// user's list of a thousand namespaces nor a flood of tokens may starve the other users.
import { type Clock, sleep } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { RateLimits } from '../base/rate-limits.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { Places } from './places.ts';

/** Reviews under way at once. */
const AT_ONCE = 32;
/** Per user or address: all namespaces of a usual cluster at once, then a rate that every API server can serve. */
const RATE = { perSecond: 100, burst: 256 };
/** Of one review. */
const ANSWER_MS = 10_000;

export interface QuestionsOptions {
  readonly client: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
}

export interface Question {
  /** The user or address that the review is for: each has a share of its own. */
  readonly asker: string;
  readonly resource: Resource;
  readonly object: JsonObject;
}

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #places = new Places(AT_ONCE);
  readonly #rates: RateLimits;

  constructor(options: QuestionsOptions) {
    this.#options = options;
    this.#rates = new RateLimits({ clock: options.clock, ...RATE });
  }

  /** The object as the API server answers it. Rejects once the signal is aborted, which ends the call too. */
  async ask({ asker, resource, object }: Question, signal: AbortSignal): Promise<object> {
    const { client, clock } = this.#options;
    for (let wait = this.#rates.take(asker); wait !== undefined; wait = this.#rates.take(asker)) {
      await sleep(clock, wait * 1000, signal);
      signal.throwIfAborted();
    }
    return this.#places.around(asker, signal, () =>
      client.create(resource, '', object, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) }),
    );
  }
}
