// Creating an object under the name of one that was evicted makes two of the same name: for a run it means running
// again. Off unless tombstones are kept (src/gitops/tombstone-index.ts); what is not known is allowed.
//
//   the name of an evicted object                        refused, or a warning by setting
//   with an annotation that names the evicted object     allowed with a warning: a restore, or on purpose
//   any other name, deleted objects among them           allowed

import { ALLOW_ARCHIVED_NAME_ANNOTATION, GROUP, RESTORED_FROM_ANNOTATION } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { TombstoneIndex } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

const kindOfPlural = new Map(allKinds.map(({ plural, kind }) => [plural, kind]));

export function archivedName(tombstones: TombstoneIndex, mode: 'deny' | 'warn'): ValidatingPolicy {
  return {
    name: 'archived-name',
    appliesTo: ({ group, plural, operation, subresource }) =>
      group === GROUP && subresource === '' && operation === 'CREATE' && kindOfPlural.has(plural),
    review: (request, context) => reviewCreate(request, context, { tombstones, mode }),
  };
}

/** A restore of this very object, and of an older one of the name. Both say which archived object their author knows. */
const permissions = [RESTORED_FROM_ANNOTATION, ALLOW_ARCHIVED_NAME_ANNOTATION];

interface Parts {
  readonly tombstones: TombstoneIndex;
  readonly mode: 'deny' | 'warn';
}

function reviewCreate(request: AdmissionRequest, { audience }: PolicyContext, { tombstones, mode }: Parts): Verdict {
  const { plural, namespace, name, object } = request;
  const kind = kindOfPlural.get(plural) ?? '';
  const known = tombstones.find({ kind, namespace, name });
  if (known?.end !== 'evicted') return { allowed: true };
  if (permissions.some((annotation) => valueAt(object, ['metadata', 'annotations', annotation]) === known.uid)) {
    return { allowed: true, warnings: [`an archived ${kind} of this name stays in the database beside this one`] };
  }
  const message = `${kind} ${quoted(name)} is archived; remove it from Git or restore it, or permit another by annotation ${ALLOW_ARCHIVED_NAME_ANNOTATION}=${audience === 'any-client' ? 'its-uid' : quoted(known.uid, 36)}`;
  return mode === 'deny' ? { allowed: false, message } : { allowed: true, warnings: [message] };
}
