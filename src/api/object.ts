import type { JsonValue } from '../base/json.ts';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from './names.ts';

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

/** `namespace/name`, or `/name` for cluster-scoped objects: the key of watches, stores and queues. */
export function objectKey(object: {
  readonly metadata: { readonly namespace?: string; readonly name: string };
}): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

export function hasFinalizer(object: KubernetesObject): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

export function isMarkedDeleting(object: KubernetesObject): boolean {
  return object.metadata.annotations?.[DELETING_ANNOTATION] === 'true';
}

export function isMarkedImmutable(object: KubernetesObject): boolean {
  return object.metadata.annotations?.[IMMUTABLE_ANNOTATION] === 'true';
}
