// What is told of an object that cannot be dealt with, by any controller: it is in the list of failing objects at once,
// counted by its code, and recorded as an event where only an operator can help or where it has stayed for too long.
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { KubeError, type KubeReason } from '../../kube/errors.ts';
import type { WatchedObject } from '../../kube/watched-object.ts';
import type { RecordEvent } from '../events.ts';
import type { FailingObjects } from './failing-objects.ts';

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
  if (ageMs >= BLOCKED_MS) recordEvent?.(object.parse(), 'TerminatingBlocked', messageOf(error));
}

export function isRefusal(error: unknown): boolean {
  return error instanceof KubeError && refusals.has(error.reason);
}
