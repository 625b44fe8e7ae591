// Deleting a CRD deletes every object of the kind, without asking admission for any of them. So it takes an annotation
// on the CRD itself, which the last kubectl delete -f of a folder, a Helm uninstall or a prune does not bring along.
import { ALLOW_CRD_DELETE_ANNOTATION } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import type { ValidatingPolicy } from '../policy.ts';
import { isOurCrd } from './crd-names.ts';
import { quoted } from './message.ts';

export const crdDeletion: ValidatingPolicy = {
  name: 'crd-deletion',
  appliesTo: (request) => request.operation === 'DELETE' && isOurCrd(request),
  review: ({ oldObject, name }) => {
    const annotation = valueAt(oldObject, ['metadata', 'annotations', ALLOW_CRD_DELETE_ANNOTATION]);
    if (annotation === 'true') return { allowed: true };
    const message = `deleting CRD ${quoted(name, 60)} deletes all its objects; to permit it set annotation ${ALLOW_CRD_DELETE_ANNOTATION}=true on it`;
    return { allowed: false, message };
  },
};
