// Whether an object is being deleted is for the API server to say. A client that creates one by a server-side apply can
// write it itself, and the API server keeps it: such an object takes no finalizer, belongs to no rule any more, and its
// time would be taken for that of a deletion. So it never comes to be.
//
//   CREATE with metadata.deletionTimestamp or metadata.deletionGracePeriodSeconds   refused
//   the same by POST                                                                allowed: the API server removes both
//   UPDATE                                                                          the API server refuses changes
import { INGESTER_GROUP } from '../../src/api/ingester.ts';
import { GROUP } from '../../src/api/names.ts';
import type { ValidatingPolicy } from '../policy.ts';
import { isOurCrd } from './crd-names.ts';
import { hasMetadata } from './guarded.ts';

const ourGroups: readonly string[] = [GROUP, INGESTER_GROUP];
const FIELDS = ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

export const bornDeleting: ValidatingPolicy = {
  name: 'born-deleting',
  appliesTo: (request) =>
    request.operation === 'CREATE' &&
    request.subresource === '' &&
    (ourGroups.includes(request.group) || isOurCrd(request)),
  review: ({ object }) => {
    const field = FIELDS.find((each) => hasMetadata(object, each));
    if (field === undefined) return { allowed: true };
    const message = `a new object must not carry metadata.${field}: only the API server sets it; remove it from the manifest`;
    return { allowed: false, message };
  },
};
