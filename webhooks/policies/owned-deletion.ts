// Marking an object for deletion that GitOps owns: it goes, and the next sync creates it again, a run to run once more.
//
//   the mark is set, Argo CD, Flux or Helm owns the object   a warning, or refused by setting
//   its manifest tells the owner to leave it alone           allowed
//   the mark was there before                                allowed
import { DELETING_ANNOTATION, GROUP } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { describeOwner, isTombstoned, ownerOf } from '../../src/gitops/owner.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

export function ownedDeletion(mode: 'deny' | 'warn'): ValidatingPolicy {
  return {
    name: 'owned-deletion',
    appliesTo: ({ group, operation, subresource }) =>
      group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
    review: (request) => reviewMark(request, mode),
  };
}

function reviewMark(request: AdmissionRequest, mode: 'deny' | 'warn'): Verdict {
  if (!isMarked(request.object) || isMarked(request.oldObject)) return { allowed: true };
  const object = readable(request);
  const owner = ownerOf(object);
  if (owner === undefined || isTombstoned(object, owner)) return { allowed: true };
  const message = `${quoted(describeOwner(owner), 70)} would create this object again after ${DELETING_ANNOTATION}; remove it from Git instead`;
  return mode === 'deny' ? { allowed: false, message } : { allowed: true, warnings: [message] };
}

function isMarked(object: JsonObject | undefined): boolean {
  return valueAt(object, ['metadata', 'annotations', DELETING_ANNOTATION]) === 'true';
}

/** What says who owns the object, without anything that is not what the API server would store. */
function readable({ kind, namespace, name, object }: AdmissionRequest): KubernetesObject {
  const references = valueAt(object, ['metadata', 'ownerReferences']);
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: {
      ...{ namespace, name, uid: '', resourceVersion: '' },
      labels: texts(valueAt(object, ['metadata', 'labels'])),
      annotations: texts(valueAt(object, ['metadata', 'annotations'])),
      ownerReferences: Array.isArray(references) ? references.filter(isJsonObject) : [],
    },
  };
}

function texts(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
