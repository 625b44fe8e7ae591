// What the query API asks the API server about its users, with limits of its own: who a token belongs to and who may do
// what. Neither one user's list of a thousand namespaces nor a flood of tokens may keep the others from their answers.
import { type Clock, sleep } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { RateLimits } from '../base/rate-limits.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { Places } from './places.ts';

/** Questions under way at once. */
const AT_ONCE = 32;
/** Of one asker: all namespaces that most clusters have, at once, and then as many as no API server minds. */
const RATE = { perSecond: 100, burst: 256 };
/** Of one question. */
const ANSWER_MS = 10_000;

export interface QuestionsOptions {
  readonly client: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
}

export interface Question {
  /** Whose question it is: each asker has a share of its own. */
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
