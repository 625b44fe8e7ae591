import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { crdDeletion } from '../../../../webhooks/policies/crd-deletion.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';

function deletion(group: string, annotations: JsonObject = {}): JsonObject {
  const name = `models.${group}`;
  return {
    operation: 'DELETE',
    kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
    resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
    namespace: '',
    name,
    object: null,
    oldObject: { metadata: { name, annotations }, spec: { group } },
  };
}

describe('rule crd-deletion', () => {
  it('refuses to delete a CRD of the bundle and says what to do', async () => {
    const verdict = await verdictOf(crdDeletion, deletion('michelangelo.api'));
    assertDenied(verdict, /models\.michelangelo\.api.*michelangelo\/allow-crd-delete=true/);
  });

  it('refuses the deletion for every value of the annotation but "true"', async () => {
    for (const value of ['', 'false', 'True', true, null]) {
      const request = deletion('michelangelo.api', { 'michelangelo/allow-crd-delete': value });
      assertDenied(await verdictOf(crdDeletion, request), /deletes all its objects/);
    }
  });

  it('refuses the deletion where the request does not show the CRD', async () => {
    assertDenied(await verdictOf(crdDeletion, { ...deletion('michelangelo.api'), oldObject: null }), /deletes all/);
  });

  it('allows the deletion with the annotation', async () => {
    const request = deletion('michelangelo.api', { 'michelangelo/allow-crd-delete': 'true' });
    assert.deepEqual(await verdictOf(crdDeletion, request), { allowed: true });
  });

  it('does not apply to CRDs of other groups', async () => {
    for (const group of ['example.com', 'notmichelangelo.api', 'stored.example.com']) {
      assert.deepEqual(await verdictOf(crdDeletion, deletion(group)), { allowed: true });
    }
  });
});
