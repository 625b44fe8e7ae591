// A full replacement (PUT) from a manifest knows neither our finalizer nor the marks that a user or a controller has
// set, and would drop all of them unintentionally. A client that reads an object and changes it, or patches it, keeps
// what it does not mean to change; so our finalizer tells the two apart:
//
//   the update                                   the mark
//   drops our finalizer and the mark              is kept, with a warning: the writer knew neither
//   keeps our finalizer, drops the mark           goes: the writer knew the object and took the mark off on purpose
//   gives the mark another value than "true"      goes, whatever else the update does: that is explicit
//   the old object had no finalizer of ours       goes: nothing tells an accident from intent
//
// A mark that goes takes effect: a deletion by annotation is undone unless the reconciler has acted on it already.
import { DELETING_ANNOTATION, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest } from '../review.ts';
import { isGuarded } from './guarded.ts';

const MARKS = [DELETING_ANNOTATION, IMMUTABLE_ANNOTATION] as const;
const ANNOTATIONS = ['metadata', 'annotations'] as const;

/** The marks that the update of a live object lost by accident. */
export function lostMarks({ operation, object, oldObject }: AdmissionRequest): readonly string[] {
  if (operation !== 'UPDATE' || !isGuarded(oldObject) || isGuarded(object)) return [];
  const before = annotationsOf(oldObject);
  const after = annotationsOf(object);
  return MARKS.filter((mark) => before?.[mark] === 'true' && (after?.[mark] ?? undefined) === undefined);
}

export function annotationsOf(object: JsonObject | undefined): JsonObject | undefined {
  const annotations = valueAt(object, ANNOTATIONS);
  return isJsonObject(annotations) ? annotations : undefined;
}
