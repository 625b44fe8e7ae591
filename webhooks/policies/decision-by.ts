// The mutating policy of Ingester resources: who sets the token that approves or rejects a change is named beside it. What the
// user wrote there himself is replaced.
//
//   request                                       answer
//   UPDATE that brings a token, or another one    the name of the user beside it
//   UPDATE that leaves the tokens as they were    nothing: the name stays that of the user who set it
//   CREATE                                        nothing: no change can wait yet
import { type Decision, decisions } from '../../src/api/ingester/decisions.ts';
import { INGESTER_GROUP, INGESTER_PLURAL } from '../../src/api/ingester/spec.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import type { AdmissionRequest, Allowed, PatchOperation } from '../review.ts';
import { isDeleting } from './guarded.ts';

export function isOfIngester({ group, plural }: AdmissionRequest): boolean {
  return group === INGESTER_GROUP && plural === INGESTER_PLURAL;
}

export function reviewDecision(request: AdmissionRequest): Allowed {
  const brought = decided(request);
  const patch = brought.map(({ by }): PatchOperation => {
    return { op: 'add', path: `/metadata/annotations/${by.replaceAll('/', '~1')}`, value: request.username };
  });
  return { patch, warnings: [], auditAnnotations: brought.length === 0 ? {} : { 'decision-by': request.username } };
}

function decided({ operation, subresource, object, oldObject }: AdmissionRequest): readonly Decision[] {
  if (operation !== 'UPDATE' || subresource !== '' || isDeleting(oldObject)) return [];
  return decisions.filter(({ token }) => {
    const now = annotation(object, token);
    return now !== undefined && now !== '' && now !== annotation(oldObject, token);
  });
}

function annotation(object: JsonObject | undefined, name: string): unknown {
  return valueAt(object, ['metadata', 'annotations', name]);
}
