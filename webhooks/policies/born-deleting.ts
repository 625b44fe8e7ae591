// Whether an object is being deleted is for the API server to say. A client that creates one by a server-side apply can
// write it itself, and the API server keeps it: such an object takes no finalizer, belongs to no rule any more, and its
// time would be taken for that of a deletion. So it never comes to be.
//
//   CREATE with metadata.deletionTimestamp or metadata.deletionGracePeriodSeconds   refused
//   the same by POST                                                                allowed: the API server removes both,
//                                                                                    after POST /mutate
//   UPDATE                                                                          the API server refuses changes
import { INGESTER_GROUP } from '../../src/api/ingester/spec.ts';
import { GROUP } from '../../src/api/names.ts';
import { DELETION_FIELDS } from '../../src/api/object.ts';
import type { ValidatingPolicy } from '../policy.ts';
import { isOurCrd } from './crd-names.ts';
import { hasMetadata } from './guarded.ts';

const ourGroups: readonly string[] = [GROUP, INGESTER_GROUP];

export const bornDeleting: ValidatingPolicy = {
  name: 'born-deleting',
  storedOnly: true,
  appliesTo: (request) =>
    request.operation === 'CREATE' &&
    request.subresource === '' &&
    (ourGroups.includes(request.group) || isOurCrd(request)),
  review: ({ object }) => {
    const field = DELETION_FIELDS.find((each) => hasMetadata(object, each));
    if (field === undefined) return { allowed: true };
    const message = `a new object must not carry metadata.${field}: only the API server sets it; remove it from the manifest`;
    return { allowed: false, message };
  },
};
