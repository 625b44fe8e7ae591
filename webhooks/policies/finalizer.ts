// The mutating policy: every object is created with our finalizer and keeps it, whichever client writes.
//
//   request                                   answer
//   CREATE or UPDATE, finalizers missing/null  add the list
//   CREATE or UPDATE, list without ours        append ours
//   ours present, also twice                   nothing: the API server keeps duplicates
//   UPDATE that lost ours and a mark           as above, and the mark again: see below
//   UPDATE of an object that is being deleted  nothing: the API server refuses new finalizers there
//   UPDATE of an object that is opted out      nothing: a user may remove it by hand. protect-marks.ts says who may
//                                              set the mark
//   UPDATE by the reconciler                   nothing: it takes the finalizer off when MySQL has the final state
//   metadata storage is off, or the kind is    nothing, as no reconciler would take it off; but what was guarded before
//   not ingested                               stays guarded, as its row may be behind when that is switched on
//   DELETE, CONNECT, no object                 nothing: a patch would be an error
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest, Allowed, PatchOperation } from '../review.ts';
import { isDeleting, isGuarded } from './guarded.ts';

export interface FinalizerPolicyOptions {
  /** Full user name of the reconciler's service account. */
  readonly reconcilerUser: string;
  /** Whether a reconciler takes the finalizer off objects of the kind; missing: one does. */
  readonly isIngested?: (kind: string) => boolean;
}

/** Names of the mutating policies: metric labels, audit annotations and headings of docs/admission.md. */
export const mutatingPolicies = ['finalizer', 'marks-kept', 'decision-by'] as const;

const FINALIZERS_PATH = '/metadata/finalizers';
const ANNOTATIONS_PATH = '/metadata/annotations';

export function reviewFinalizer(request: AdmissionRequest, options: FinalizerPolicyOptions): Allowed {
  const { object } = request;
  if (object === undefined || !mayPatch(request, options)) return { ...nothing, auditAnnotations: audit('skipped') };
  if (isGuarded(object)) return { ...nothing, auditAnnotations: audit('present') };
  if (!isGuarded(request.oldObject) && options.isIngested?.(request.kind.kind) === false) {
    return { ...nothing, auditAnnotations: audit('not-ingested') };
  }
  const marks = lostMarks(request);
  return {
    patch: [addFinalizer(object), ...restoreMarks(object, marks)],
    warnings: marks.map(
      (mark) => `${mark} was kept, though this update drops it; to take it off, set it to "false" or patch it away`,
    ),
    auditAnnotations: { ...audit('added'), ...(marks.length === 0 ? {} : { 'marks-kept': marks.join(',') }) },
  };
}

const nothing = { patch: [], warnings: [] } as const;

function audit(finalizer: 'added' | 'present' | 'skipped' | 'not-ingested'): Readonly<Record<string, string>> {
  return { finalizer };
}

function mayPatch(request: AdmissionRequest, options: FinalizerPolicyOptions): boolean {
  switch (request.operation) {
    case 'CREATE':
      return true;
    case 'UPDATE': {
      // Never the new object, which says what the client likes.
      const deleting = isDeleting(request.oldObject);
      const optedOut = valueAt(request.object, ['metadata', 'annotations', UNGUARDED_ANNOTATION]) === 'true';
      return !deleting && !optedOut && request.username !== options.reconcilerUser;
    }
    case 'DELETE':
    case 'CONNECT':
      return false;
  }
}

function addFinalizer(object: JsonObject): PatchOperation {
  return Array.isArray(valueAt(object, ['metadata', 'finalizers']))
    ? { op: 'add', path: `${FINALIZERS_PATH}/-`, value: FINALIZER }
    : { op: 'add', path: FINALIZERS_PATH, value: [FINALIZER] };
}

function restoreMarks(object: JsonObject, marks: readonly string[]): readonly PatchOperation[] {
  if (marks.length === 0) return [];
  if (annotationsOf(object) === undefined) {
    return [{ op: 'add', path: ANNOTATIONS_PATH, value: Object.fromEntries(marks.map((mark) => [mark, 'true'])) }];
  }
  return marks.map((mark) => ({ op: 'add', path: `${ANNOTATIONS_PATH}/${escaped(mark)}`, value: 'true' }));
}

/** One key as a step of a JSON Pointer. */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

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

const MARKS = [DELETING_ANNOTATION, IMMUTABLE_ANNOTATION] as const;
const ANNOTATIONS = ['metadata', 'annotations'] as const;

/** The marks that the update of a live object lost by accident. */
function lostMarks({ operation, object, oldObject }: AdmissionRequest): readonly string[] {
  if (operation !== 'UPDATE' || !isGuarded(oldObject) || isGuarded(object)) return [];
  const before = annotationsOf(oldObject);
  const after = annotationsOf(object);
  return MARKS.filter((mark) => before?.[mark] === 'true' && (after?.[mark] ?? undefined) === undefined);
}

function annotationsOf(object: JsonObject | undefined): JsonObject | undefined {
  const annotations = valueAt(object, ANNOTATIONS);
  return isJsonObject(annotations) ? annotations : undefined;
}
