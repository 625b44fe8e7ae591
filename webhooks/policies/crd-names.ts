import { GROUP } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest } from '../review.ts';

/** Whether the request is about one of our CustomResourceDefinitions, of the catalogue or not. */
export function isOurCrd({ group, plural, subresource, name, oldObject }: AdmissionRequest): boolean {
  if (group !== 'apiextensions.k8s.io' || plural !== 'customresourcedefinitions' || subresource !== '') return false;
  return valueAt(oldObject, ['spec', 'group']) === GROUP || name.endsWith(`.${GROUP}`);
}
