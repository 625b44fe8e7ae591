import type { Clock } from '../../base/clock.ts';
import { CodedError, messageForUsers, messageOf } from '../../base/errors.ts';
import { KubeError, type KubeReason } from '../../kube/errors.ts';
import type { WatchedObject } from '../../kube/watched-object.ts';
import type { RecordEvent } from '../events.ts';

/** An object that could not be reconciled, and why. */
export interface FailingObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Stable code of the error, see docs/errors.md. */
  readonly code: string;
  readonly message: string;
  /** RFC 3339, of the first failure in a row. */
  readonly since: string;
  readonly attempts: number;
}

/** Objects listed by name; an outage concerns every object, and a list of all of them would not help. */
const LISTED = 1000;

/** The objects whose last attempt failed. */
export class FailingObjects {
  readonly #clock: Clock;
  readonly #listed = new Map<string, FailingObject>();
  /** Keys beyond the list; only counted. */
  readonly #others = new Set<string>();

  /** Told of every failed attempt, with the code of its error. */
  readonly #onFailure: (kind: string, code: string) => void;

  constructor(clock: Clock, onFailure: (kind: string, code: string) => void = () => undefined) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  failed(kind: string, key: string, error: unknown): void {
    const id = `${kind} ${key}`;
    const code = codeOf(error);
    this.#onFailure(kind, code);
    const known = this.#listed.get(id);
    if (known === undefined && this.#listed.size >= LISTED) {
      this.#others.add(id);
      return;
    }
    const slash = key.indexOf('/');
    this.#others.delete(id);
    this.#listed.set(id, {
      kind,
      namespace: key.slice(0, slash),
      name: key.slice(slash + 1),
      code,
      message: messageOf(error),
      since: known?.since ?? this.#clock.now().toISOString(),
      attempts: (known?.attempts ?? 0) + 1,
    });
  }

  recovered(kind: string, key: string): void {
    const id = `${kind} ${key}`;
    this.#listed.delete(id);
    this.#others.delete(id);
  }

  /** They are another replica's from now on. */
  forget(): void {
    this.#listed.clear();
    this.#others.clear();
  }

  get count(): number {
    return this.#listed.size + this.#others.size;
  }

  /** The oldest first. */
  list(): readonly FailingObject[] {
    return [...this.#listed.values()];
  }
}

// What is told of an object that cannot be dealt with, by any controller: it is in the list of failing objects at once,
// counted by its code, and recorded as an event where only an operator can help or where it has stayed for too long.

/** After so long, an object that is still there gets an event that says why. */
export const BLOCKED_MS = 60_000;

/** The API server has answered, and time alone will not change the answer. */
const refusals: ReadonlySet<KubeReason> = new Set(['Refused', 'Invalid', 'Forbidden']);

export interface FailureListeners {
  readonly kind: { readonly kind: string };
  readonly clock: Clock;
  readonly failingObjects?: FailingObjects;
  readonly recordEvent?: RecordEvent;
}

export function tellFailure(object: WatchedObject, error: unknown, listeners: FailureListeners): void {
  const { kind, failingObjects, recordEvent } = listeners;
  failingObjects?.failed(kind.kind, object.key, error);
  if (isRefusal(error)) recordEvent?.(object.parse(), 'WriteRefused', messageOf(error));
  tellWhyItStays(object, error, listeners);
}

export function tellWhyItStays(
  object: WatchedObject,
  error: unknown,
  { clock, recordEvent }: Pick<FailureListeners, 'clock' | 'recordEvent'>,
): void {
  const { deletionTimestamp } = object.marks();
  if (deletionTimestamp === undefined) return;
  const ageMs = clock.now().getTime() - new Date(deletionTimestamp).getTime();
  if (ageMs >= BLOCKED_MS)
    recordEvent?.(object.parse(), 'TerminatingBlocked', messageForUsers(codeOf(error), messageOf(error)));
}

function codeOf(error: unknown): string {
  return error instanceof CodedError ? error.code : 'INTERNAL';
}

export function isRefusal(error: unknown): boolean {
  return error instanceof KubeError && refusals.has(error.reason);
}
