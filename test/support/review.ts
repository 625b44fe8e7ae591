import type { JsonObject } from '../../src/base/json.ts';
import { type AdmissionRequest, decodeReview } from '../../webhooks/review.ts';
import { aModel } from './objects.ts';

/** An AdmissionReview as the API server sends it. */
export function aReview(request: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'review-uid',
      operation: 'CREATE',
      kind: { group: 'michelangelo.api', version: 'v2', kind: 'Model' },
      resource: { group: 'michelangelo.api', version: 'v2', resource: 'models' },
      namespace: 'a-namespace',
      name: 'a-model',
      userInfo: { username: 'a-user', uid: 'user-uid', groups: ['system:authenticated'] },
      dryRun: false,
      object: aModel() as JsonObject,
      oldObject: null,
      ...request,
    },
  };
}

/** The same, decoded. */
export function aRequest(request: JsonObject = {}): AdmissionRequest {
  return decodeReview(Buffer.from(JSON.stringify(aReview(request))));
}
