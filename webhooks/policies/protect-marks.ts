// Two annotations delete an object or move it out of etcd, and a third lets any user take the finalizer off, so that
// the object can go before its final state is stored. A user who may write annotations could do all that past RBAC, so
// setting one needs the verb that it stands for.
//
//   the request                                       answer
//   CREATE with the first                             refused, or a warning by setting: a manifest that says so comes
//                                                     back and goes again for ever
//   CREATE with the second                            allowed, as in the original, unless the setting says otherwise: it
//                                                     is stored and then evicted, and stays where GitOps owns it
//   … or UPDATE, that sets a mark, user may delete    allowed
//   … user may not delete                             refused
//   … RBAC does not answer in time                    refused: the same user can delete as soon as RBAC answers
//   UPDATE that keeps or takes off a mark             allowed
//   a mark with a value other than "true"             a warning: it does nothing
//
// The word of the second annotation's name is one that clients take for a reason to create the object anew, so
// messages describe it.
import { DELETING_ANNOTATION, GROUP, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { AccessReviewer } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

const marks = [
  { annotation: DELETING_ANNOTATION, shown: DELETING_ANNOTATION, ends: true },
  { annotation: IMMUTABLE_ANNOTATION, shown: 'the eviction annotation', ends: true },
  { annotation: UNGUARDED_ANNOTATION, shown: UNGUARDED_ANNOTATION, ends: false },
] as const;
type Mark = (typeof marks)[number];
/** `allow`: with the eviction annotation; one that would be deleted at once is refused. */
export type CreateMarked = 'allow' | 'deny' | 'warn';

export function protectMarks(access: AccessReviewer, createMarked: CreateMarked): ValidatingPolicy {
  return {
    name: 'protect-marks',
    appliesTo: ({ group, operation, subresource }) =>
      group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
    review: (request, context) => {
      const set = marks.filter(({ annotation }) => isSetBy(request, annotation));
      const warnings = marks.filter(({ annotation }) => isMeant(request, annotation)).map(hasNoEffect);
      const isCreate = request.operation === 'CREATE';
      const [born] = set.filter((mark) => isCreate && mark.ends && !isAdmitted(mark, createMarked));
      const verdict: Verdict =
        born === undefined ? { allowed: true, warnings } : reviewCreate(born, createMarked, warnings);
      const [mark] = set.filter(({ ends }) => !(isCreate && ends));
      if (mark === undefined || !verdict.allowed) return verdict;
      return askRight(request, mark, { access, warnings: verdict.warnings ?? [], context });
    },
  };
}

function isSetBy({ object, oldObject }: AdmissionRequest, annotation: string): boolean {
  return valueOf(object, annotation) === 'true' && valueOf(oldObject, annotation) !== 'true';
}

/** Whether this request writes a value that looks like "true" and is not. */
function isMeant({ object, oldObject }: AdmissionRequest, annotation: string): boolean {
  const value = valueOf(object, annotation);
  if (value === 'true' || value === undefined || value === valueOf(oldObject, annotation)) return false;
  return typeof value === 'string' && !['', 'false'].includes(value);
}

function valueOf(object: JsonObject | undefined, annotation: string): unknown {
  return valueAt(object, ['metadata', 'annotations', annotation]);
}

function hasNoEffect({ shown }: Mark): string {
  return `${shown} has no effect unless its value is exactly "true"`;
}

function isAdmitted({ annotation }: Mark, mode: CreateMarked): boolean {
  return mode === 'allow' && annotation === IMMUTABLE_ANNOTATION;
}

function reviewCreate({ shown }: Mark, mode: CreateMarked, warnings: readonly string[]): Verdict {
  const message = `a new object must not carry ${shown}: it would leave the cluster at once, each time it is applied; remove it from the manifest`;
  return mode === 'warn' ? { allowed: true, warnings: [...warnings, message] } : { allowed: false, message };
}

interface Asking {
  readonly access: AccessReviewer;
  readonly warnings: readonly string[];
  readonly context: PolicyContext;
}

async function askRight(
  request: AdmissionRequest,
  { shown }: Mark,
  { access, warnings, context }: Asking,
): Promise<Verdict> {
  const { username, plural } = request;
  switch (await access.mayDelete(request, request, context.signal)) {
    case 'yes':
      return { allowed: true, warnings };
    case 'no': {
      const message = `${shown} needs the right to delete: ${quoted(username, 50)} may not delete this object; ask for the verb delete on ${quoted(plural)}`;
      return { allowed: false, message };
    }
    case 'unknown': {
      const message = `${shown} needs the right to delete, and the API server did not say in time whether ${quoted(username, 50)} has it; try again`;
      return { allowed: false, message };
    }
  }
}
