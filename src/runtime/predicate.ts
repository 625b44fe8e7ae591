// Predicates decide which events reach a handler. All predicates of one source must agree.
import { identityOf, type KubernetesObject } from '../api/object.ts';
import { canonicalJson } from '../base/json.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from './events.ts';
import { parseLabelSelector } from './label-selector.ts';

export interface Predicate {
  create(event: CreateEvent): boolean;
  update(event: UpdateEvent): boolean;
  delete(event: DeleteEvent): boolean;
  generic(event: GenericEvent): boolean;
}

/** Lets every event pass whose kind is not given. */
export function predicateFuncs(functions: Partial<Predicate>): Predicate {
  const pass = (): boolean => true;
  return { create: pass, update: pass, delete: pass, generic: pass, ...functions };
}

/** Judges the object of the event; of an update the new one. */
export function objectPredicate(accepts: (object: KubernetesObject) => boolean): Predicate {
  return {
    create: ({ object }) => accepts(object),
    update: ({ after }) => accepts(after),
    delete: ({ object }) => accepts(object),
    generic: ({ object }) => accepts(object),
  };
}

function whenChanged(part: (object: KubernetesObject) => unknown): Predicate {
  return predicateFuncs({ update: ({ before, after }) => part(before) !== part(after) });
}

/** Drops repetitions: resyncs, and objects that a new list brings as they were. */
export const resourceVersionChanged: Predicate = whenChanged((object) => identityOf(object).resourceVersion);

/**
 * Drops updates that leave the specification as it was: of status, labels, annotations and finalizers, and resyncs.
 *
 * Only for the primary resource of a controller whose status is mere output, where it breaks the loop of the controller
 * waking itself. Never for a controller that reads its own status: it would not wake after writing it and stop half-way.
 * Never for owned resources: their status is what the owner waits for.
 */
export const generationChanged: Predicate = whenChanged(({ metadata }) => metadata.generation);

export const labelChanged: Predicate = whenChanged(({ metadata }) => canonicalJson(metadata.labels ?? {}));

export const annotationChanged: Predicate = whenChanged(({ metadata }) => canonicalJson(metadata.annotations ?? {}));

/** Accepts objects whose labels match, in the syntax of `kubectl get -l`. Throws SelectorError for a wrong selector. */
export function labelSelector(selector: string): Predicate {
  const matches = parseLabelSelector(selector);
  return objectPredicate(({ metadata }) => matches(metadata.labels ?? {}));
}

export function and(...predicates: readonly Predicate[]): Predicate {
  return {
    create: (event) => predicates.every((predicate) => predicate.create(event)),
    update: (event) => predicates.every((predicate) => predicate.update(event)),
    delete: (event) => predicates.every((predicate) => predicate.delete(event)),
    generic: (event) => predicates.every((predicate) => predicate.generic(event)),
  };
}

export function or(...predicates: readonly Predicate[]): Predicate {
  return {
    create: (event) => predicates.some((predicate) => predicate.create(event)),
    update: (event) => predicates.some((predicate) => predicate.update(event)),
    delete: (event) => predicates.some((predicate) => predicate.delete(event)),
    generic: (event) => predicates.some((predicate) => predicate.generic(event)),
  };
}

export function not(predicate: Predicate): Predicate {
  return {
    create: (event) => !predicate.create(event),
    update: (event) => !predicate.update(event),
    delete: (event) => !predicate.delete(event),
    generic: (event) => !predicate.generic(event),
  };
}
