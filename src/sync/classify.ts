import type { KindDefinition } from '../api/kind.ts';
import { isMarkedDeleting, isMarkedImmutable, type KubernetesObject } from '../api/object.ts';

/**
 * The state of an object that decides its flow, in the order of the specification's decision tree.
 * - `gone`: not in the API server
 * - `deleting`: has a deletionTimestamp, whoever asked
 * - `marked`: annotated michelangelo/Deleting, a deletion the caller does not wait for
 * - `immutable`: annotated michelangelo/Immutable, or of an immutable kind where those are evicted
 * - `live`: everything else
 */
export type Classified =
  | { readonly state: 'gone' }
  | { readonly state: 'deleting' | 'marked' | 'immutable' | 'live'; readonly object: KubernetesObject };

export interface ClassifyOptions {
  readonly kind: KindDefinition;
  readonly evictImmutableKinds: boolean;
}

export function classify(object: KubernetesObject | undefined, options: ClassifyOptions): Classified {
  if (object === undefined) return { state: 'gone' };
  if (object.metadata.deletionTimestamp !== undefined) return { state: 'deleting', object };
  if (isMarkedDeleting(object)) return { state: 'marked', object };
  const immutableKind = options.evictImmutableKinds && options.kind.immutable;
  if (immutableKind || isMarkedImmutable(object)) return { state: 'immutable', object };
  return { state: 'live', object };
}
