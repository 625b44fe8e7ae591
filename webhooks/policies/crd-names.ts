import { INGESTER_GROUP } from '../../src/api/ingester/spec.ts';
import { GROUP } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest } from '../review.ts';

/** Whether the request is about one of our CustomResourceDefinitions, of the catalogue or not. */
export function isOurCrd({ group, plural, subresource, name, oldObject }: AdmissionRequest): boolean {
  if (group !== 'apiextensions.k8s.io' || plural !== 'customresourcedefinitions' || subresource !== '') return false;
  const of = valueAt(oldObject, ['spec', 'group']);
  return of === GROUP || of === INGESTER_GROUP || name.endsWith(`.${GROUP}`);
}
