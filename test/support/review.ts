import type { JsonObject } from '../../src/base/json.ts';
import { aModel } from './objects.ts';

/** An AdmissionReview as the API server sends it. */
export function aReview(request: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'review-uid',
      operation: 'CREATE',
      resource: { group: 'michelangelo.api', version: 'v2', resource: 'models' },
      namespace: 'a-namespace',
      name: 'a-model',
      userInfo: { username: 'somebody' },
      dryRun: false,
      object: aModel() as JsonObject,
      oldObject: null,
      ...request,
    },
  };
}
