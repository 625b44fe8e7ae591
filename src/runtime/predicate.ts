// Predicates decide which events reach a handler. All predicates of one source must agree.
import type { KnownObject } from '../kube/watched-object.ts';
import type { CreateEvent, DeleteEvent, UpdateEvent } from './handler.ts';

export interface Predicate {
  create(event: CreateEvent): boolean;
  update(event: UpdateEvent): boolean;
  delete(event: DeleteEvent): boolean;
}

/** Lets every event pass whose kind is not given. */
export function predicateFuncs(functions: Partial<Predicate>): Predicate {
  const pass = (): boolean => true;
  return { create: pass, update: pass, delete: pass, ...functions };
}

/** Judges the object of the event; of an update the new one. */
export function objectPredicate(accepts: (object: KnownObject) => boolean): Predicate {
  return {
    create: ({ object }) => accepts(object),
    update: ({ after }) => accepts(after),
    delete: ({ object }) => accepts(object),
  };
}

/** Drops repetitions: resyncs, and objects that a new list brings as they were. */
export const resourceVersionChanged: Predicate = predicateFuncs({
  update: ({ before, after }) => before.identity.resourceVersion !== after.identity.resourceVersion,
});

export function and(...predicates: readonly Predicate[]): Predicate {
  return {
    create: (event) => predicates.every((predicate) => predicate.create(event)),
    update: (event) => predicates.every((predicate) => predicate.update(event)),
    delete: (event) => predicates.every((predicate) => predicate.delete(event)),
  };
}
