// Deleting a CRD deletes every object of the kind, without asking admission for any of them. So it takes an annotation
// on the CRD itself, which the last kubectl delete -f of a folder, a Helm uninstall or a prune does not bring along.
//
//   the annotation is there                                allowed
//   a kind that is not ingested unless it is configured,   allowed: the API server of the original takes away the kinds of
//   or that we do not know, and nothing of it is there     another release at its start, and does not start where it cannot
//   anything else                                          refused
import { ALLOW_CRD_DELETE_ANNOTATION, GROUP } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import type { ValidatingPolicy } from '../policy.ts';
import type { ObjectCensus } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { servedVersionOf } from './crd-compare.ts';
import { isOurCrd } from './crd-names.ts';
import { quoted } from './message.ts';

const ingested: ReadonlySet<unknown> = new Set(defaultKinds.map(({ plural }) => plural));

export function crdDeletion(census: ObjectCensus): ValidatingPolicy {
  return {
    name: 'crd-deletion',
    appliesTo: (request) => request.operation === 'DELETE' && isOurCrd(request),
    review: async ({ oldObject, name }, { signal }) => {
      const annotation = valueAt(oldObject, ['metadata', 'annotations', ALLOW_CRD_DELETE_ANNOTATION]);
      if (annotation === 'true' || (await isEmpty(census, oldObject, signal))) return { allowed: true };
      const message = `deleting CRD ${quoted(name, 60)} deletes all its objects; to permit it set annotation ${ALLOW_CRD_DELETE_ANNOTATION}=true on it`;
      return { allowed: false, message };
    },
  };
}

async function isEmpty(
  census: ObjectCensus,
  crd: AdmissionRequest['oldObject'],
  signal: AbortSignal,
): Promise<boolean> {
  const [group, plural] = [valueAt(crd, ['spec', 'group']), valueAt(crd, ['spec', 'names', 'plural'])];
  const version = servedVersionOf(crd ?? {});
  if (group !== GROUP || typeof plural !== 'string' || version === undefined || ingested.has(plural)) return false;
  return (await census.hasObjects({ group, plural, version }, signal)) === 'none';
}
