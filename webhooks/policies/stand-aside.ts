// Requests that no rule may refuse, because refusing them would wedge an object or lose its last state:
//
//   reconciler   what the reconciler itself does to objects of our group
//   deleting     anything that happens to an object that is being deleted already
//   unchanged    updates of nothing but finalizers, status and what the API server itself keeps
import { GROUP } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { sameJson } from '../../src/base/same-json.ts';
import type { AdmissionRequest } from '../review.ts';
import { isDeleting } from './guarded.ts';

export type StandAside = 'reconciler' | 'deleting' | 'unchanged';

/** Not written by users: the API server keeps these, and finalizers belong to controllers. */
const KEPT_METADATA = ['finalizers', 'managedFields', 'resourceVersion', 'generation'];

export function standAside(request: AdmissionRequest, reconcilerUser: string): StandAside | undefined {
  const { group, username, operation, oldObject, object } = request;
  if (group === GROUP && username === reconcilerUser) return 'reconciler';
  // Only the old object can be trusted: it is what the API server has, not what the client sent.
  if (operation === 'CREATE' || oldObject === undefined) return undefined;
  if (isDeleting(oldObject)) return 'deleting';
  if (operation !== 'UPDATE' || request.subresource !== '' || object === undefined) return undefined;
  return sameJson(written(oldObject), written(object)) ? 'unchanged' : undefined;
}

/** The object without status and without the fields that users do not write. */
function written(object: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = object;
  if (!isJsonObject(metadata)) return { ...rest, metadata };
  const kept = Object.entries(metadata).filter(([key]) => !KEPT_METADATA.includes(key));
  return { ...rest, metadata: Object.fromEntries(kept) };
}
