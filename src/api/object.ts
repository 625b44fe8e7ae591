import type { JsonValue } from '../base/json.ts';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION } from './names.ts';

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly [field: string]: unknown;
}

/** A custom resource as the API server sends it. Plain JSON: fields unknown to this program survive. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: JsonValue | ObjectMeta | undefined;
}

/**
 * `namespace/name`, or `/name` for cluster-scoped objects: the key of watches, stores and queues. Joined, not added: a sum of
 * texts keeps both of them and itself, for each object of the cluster.
 */
export function objectKey({
  metadata: { namespace = '', name },
}: {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string };
}): string {
  return [namespace, name].join('/');
}

/** Which object it is and in which state. */
export interface Identity {
  readonly name: string;
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The metadata that say how an object has to be dealt with. */
export interface Marks {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly deletionTimestamp?: string | undefined;
}

export interface Marked {
  readonly metadata: Marks;
}

export function hasFinalizer(object: Marked): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

export function isMarkedDeleting(object: Marked): boolean {
  return object.metadata.annotations?.[DELETING_ANNOTATION] === 'true';
}

export function isMarkedImmutable(object: Marked): boolean {
  return object.metadata.annotations?.[IMMUTABLE_ANNOTATION] === 'true';
}

/** Whether a user asked to leave this object without the finalizer. */
export function isOptedOut(object: Marked): boolean {
  return object.metadata.annotations?.[UNGUARDED_ANNOTATION] === 'true';
}

/** Whether the object has to be given the finalizer. The API server refuses new finalizers on a deleting object. */
export function needsFinalizer(object: Marked): boolean {
  return object.metadata.deletionTimestamp === undefined && !hasFinalizer(object) && !isOptedOut(object);
}

/** What only the API server sets, and removes from an object that is created by a POST. */
export const DELETION_FIELDS = ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/**
 * Whether the object was created with a deletionTimestamp, which a client made up: deleting an object counts its
 * generation up from the 1 it is created with. Admission refuses such an object, where it is asked.
 */
export function isBornDeleting({ metadata }: { readonly metadata: Timed }): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.generation === 1;
}

/** Clocks of API servers and of this process differ by less. */
const SKEW_MS = 600_000;

/**
 * When the object was deleted; undefined for a living one. A time that was made up, as far as can be told, is replaced by
 * that of the creation: such an object was never alive.
 */
export function deletionTimeOf({ metadata }: { readonly metadata: Timed }, now: Date): Date | undefined {
  const { creationTimestamp, deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined) return undefined;
  const deleted = new Date(deletionTimestamp);
  if (creationTimestamp === undefined) return deleted;
  const created = new Date(creationTimestamp);
  const possible = deleted.getTime() >= created.getTime() - SKEW_MS && deleted.getTime() <= now.getTime() + SKEW_MS;
  return possible && !isBornDeleting({ metadata }) ? deleted : created;
}

type Timed = Pick<ObjectMeta, 'generation' | 'creationTimestamp' | 'deletionTimestamp'>;

/** Who wrote which field: changed by every write, and of no use to this program. */
export function withoutManagedFields(metadata: ObjectMeta): ObjectMeta {
  if (!Object.hasOwn(metadata, 'managedFields')) return metadata;
  const { managedFields: _, ...rest } = metadata;
  return rest;
}
