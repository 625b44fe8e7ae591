// Where the API server does not answer what a reconcile reads, conditions of before would go on saying what they said. After
// a while they become Unknown. A single failure says nothing: the reconcile is tried again at once.
import type { IngesterStatus } from '../../api/ingester/status.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { redact } from '../../base/redact.ts';
import { unreadConditions } from '../plan/conditions.ts';

const GRACE_MS = 30_000;
const LONGEST = 256;

export class FailingReads {
  readonly #clock: Clock;
  /** By resource: when its reads began to fail. */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  over(key: string): void {
    this.#since.delete(key);
  }

  /** What the status becomes; undefined while the failure may pass. */
  failed(
    key: string,
    { metadata }: KubernetesObject,
    status: IngesterStatus,
    error: unknown,
  ): IngesterStatus | undefined {
    const now = this.#clock.monotonicMs();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    if (now - since < GRACE_MS) return undefined;
    const moment = { status, generation: metadata.generation ?? 0, now: this.#clock.now() };
    return { ...status, conditions: unreadConditions(moment, redact(messageOf(error)).slice(0, LONGEST)) };
  }
}
