// The mutating policy: every object is created with our finalizer, whoever creates it.
//
//   request                                   answer
//   CREATE or UPDATE, finalizers missing/null  add the list
//   CREATE or UPDATE, list without ours        append ours
//   ours present, also twice                   nothing: the API server keeps duplicates
//   UPDATE of an object that is being deleted  nothing: the API server refuses new finalizers there
//   UPDATE by the reconciler                   nothing: it takes the finalizer off when MySQL has the final state
//   DELETE, CONNECT, no object                 nothing: a patch would be an error
import { FINALIZER } from '../../src/api/names.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest, Allowed, PatchOperation } from '../review.ts';

export interface FinalizerPolicyOptions {
  /** Full user name of the reconciler's service account. */
  readonly reconcilerUser: string;
}

const FINALIZERS_PATH = '/metadata/finalizers';

export function injectFinalizer(request: AdmissionRequest, options: FinalizerPolicyOptions): Allowed {
  const { object } = request;
  if (object === undefined || !mayPatch(request, options)) return answer('skipped', []);
  const finalizers = valueAt(object, ['metadata', 'finalizers']);
  if (!Array.isArray(finalizers)) return answer('added', [{ op: 'add', path: FINALIZERS_PATH, value: [FINALIZER] }]);
  if (finalizers.includes(FINALIZER)) return answer('present', []);
  return answer('added', [{ op: 'add', path: `${FINALIZERS_PATH}/-`, value: FINALIZER }]);
}

function mayPatch(request: AdmissionRequest, options: FinalizerPolicyOptions): boolean {
  switch (request.operation) {
    case 'CREATE':
      return true;
    case 'UPDATE': {
      const deleting = isDeleting(request.object) || isDeleting(request.oldObject);
      return !deleting && request.username !== options.reconcilerUser;
    }
    case 'DELETE':
    case 'CONNECT':
      return false;
  }
}

function isDeleting(object: JsonObject | undefined): boolean {
  const timestamp = valueAt(object, ['metadata', 'deletionTimestamp']);
  return timestamp !== undefined && timestamp !== null;
}

function answer(finalizer: 'added' | 'present' | 'skipped', patch: readonly PatchOperation[]): Allowed {
  return { patch, auditAnnotations: { finalizer } };
}
