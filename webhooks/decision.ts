import type { JsonObject } from '../src/base/json.ts';
import type { Decision } from './policy.ts';
import { API_VERSION, oneLine, warningsOf } from './review.ts';

/** A refusal is one line in kubectl, Argo CD and Flux. Most have 200 characters; some name several problems at once. */
const MAX_MESSAGE = 2000;

/** The answer to a validating review: a denial is a 403 with the reason Forbidden and one line. */
export function encodeDecision(uid: string, decision: Decision): JsonObject {
  const answer = decision.allowed
    ? { auditAnnotations: { ...decision.auditAnnotations } }
    : {
        auditAnnotations: { rule: decision.policy },
        status: { code: 403, reason: 'Forbidden', message: oneLine(decision.message, MAX_MESSAGE) },
      };
  return {
    apiVersion: API_VERSION,
    kind: 'AdmissionReview',
    response: { uid, allowed: decision.allowed, ...warningsOf(decision), ...answer },
  };
}
