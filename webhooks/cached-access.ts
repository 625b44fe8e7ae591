// Remembers for a few seconds what the API server said of a user and an object: controllers mark many objects in a
// row, and a retried request asks the same again. Only answers are kept, never that there was none.
import type { Clock } from '../src/base/clock.ts';
import { canonicalJson } from '../src/base/json.ts';
import type { AccessReviewer, Requester, Subject } from './ports.ts';

/** RBAC that was just taken away is believed for at most this long. */
const KEEP_MS = 10_000;
/** Clients choose the names, so the number that is kept is limited. */
const MAX_ANSWERS = 1000;

interface Answer {
  readonly answer: 'yes' | 'no';
  readonly untilMs: number;
}

export class CachedAccessReviewer implements AccessReviewer {
  readonly #reviewer: AccessReviewer;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #answers = new Map<string, Answer>();

  constructor(reviewer: AccessReviewer, clock: Clock) {
    this.#reviewer = reviewer;
    this.#clock = clock;
  }

  async mayDelete(user: Requester, object: Subject, signal: AbortSignal): Promise<'yes' | 'no' | 'unknown'> {
    const key = keyOf(user, object);
    const known = this.#answers.get(key);
    if (known !== undefined && known.untilMs > this.#clock.monotonicMs()) return known.answer;
    const answer = await this.#reviewer.mayDelete(user, object, signal);
    if (answer !== 'unknown') this.#keep(key, answer);
    return answer;
  }

  #keep(key: string, answer: 'yes' | 'no'): void {
    this.#answers.delete(key);
    this.#answers.set(key, { answer, untilMs: this.#clock.monotonicMs() + KEEP_MS });
    if (this.#answers.size <= MAX_ANSWERS) return;
    const oldest = this.#answers.keys().next();
    if (oldest.done !== true) this.#answers.delete(oldest.value);
  }
}

function keyOf(user: Requester, object: Subject): string {
  const { username, userUid, groups, userExtra } = user;
  const { group, plural, namespace, name } = object;
  return canonicalJson([username, userUid, groups, userExtra, group, plural, namespace, name]);
}
