import type { KindDefinition } from '../../api/kind.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { CodedError } from '../../base/errors.ts';
import type { Ending } from './ending.ts';

/** The end of an object that MySQL has not heard of. */
export interface UnsavedEnding {
  readonly kind: KindDefinition;
  readonly object: KubernetesObject;
  readonly ending: Ending;
  readonly at: Date;
}

/** What becomes of deletions while MySQL is away, where the policy is not simply to wait. */
export interface OutagePolicy {
  /** Whether MySQL has been away for so long that this object need not wait for it. */
  isDue(object: KubernetesObject): boolean;
  /** Keeps the end of the object on disk; resolves when it would survive a power cut. False where there is no room. */
  keep(unsaved: UnsavedEnding): Promise<boolean>;
}

const outages: ReadonlySet<string> = new Set([
  'STORAGE_UNAVAILABLE',
  'STORAGE_ACCESS_DENIED',
  'STORAGE_DATABASE_MISSING',
]);

/** Whether it is the database as a whole that fails. A closed gate or a refused row is not an outage. */
export function isOutage(error: unknown): boolean {
  return error instanceof CodedError && outages.has(error.code);
}
