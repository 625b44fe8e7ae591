import type { KindDefinition } from '../../api/kind.ts';
import { isMarkedDeleting, isMarkedImmutable, type KubernetesObject } from '../../api/object.ts';

/**
 * The state of an object that decides its flow, in the order of the specification's decision tree.
 * - `deleting`: has a deletionTimestamp, whatever set it
 * - `marked`: annotated michelangelo/Deleting, a deletion the caller does not wait for
 * - `immutable`: annotated michelangelo/Immutable, of an immutable kind where those are evicted, or chosen by a rule
 * - `live`: everything else
 */
export type Classified =
  | { readonly state: 'immutable'; readonly object: KubernetesObject; readonly cause: string }
  | { readonly state: 'deleting' | 'marked'; readonly object: KubernetesObject }
  | { readonly state: 'live'; readonly object: KubernetesObject };

export interface ClassifyOptions {
  readonly kind: KindDefinition;
  readonly evictImmutableKinds: boolean;
  /** Name of the eviction rule that has chosen exactly this state of the object. */
  readonly chosenBy?: (object: KubernetesObject) => string | undefined;
}

export function classify(object: KubernetesObject, options: ClassifyOptions): Classified {
  if (object.metadata.deletionTimestamp !== undefined) return { state: 'deleting', object };
  if (isMarkedDeleting(object)) return { state: 'marked', object };
  const cause = archivedBecause(object, options) ?? ruleNamed(options.chosenBy?.(object));
  return cause === undefined ? { state: 'live', object } : { state: 'immutable', object, cause };
}

/** What about the object itself makes its end an eviction rather than a deletion. */
export function archivedBecause(object: KubernetesObject, options: ClassifyOptions): string | undefined {
  if (isMarkedImmutable(object)) return 'the annotation michelangelo/Immutable';
  return options.evictImmutableKinds && options.kind.immutable
    ? `${options.kind.kind} being an immutable kind`
    : undefined;
}

function ruleNamed(rule: string | undefined): string | undefined {
  return rule === undefined ? undefined : `the rule "${rule}"`;
}
