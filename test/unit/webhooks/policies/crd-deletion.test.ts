import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { crdDeletion } from '../../../../webhooks/policies/crd-deletion.ts';
import type { ValidatingPolicy } from '../../../../webhooks/policy.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';

type Answer = 'some' | 'none' | 'unknown';

/** Asked about no kind that is ingested. */
function rule(answer?: Answer): ValidatingPolicy {
  const hasObjects = () => (answer === undefined ? assert.fail('asked for objects') : Promise.resolve(answer));
  return crdDeletion({ hasObjects, heldPlaces: () => assert.fail('asked for values') });
}

function deletion(group: string, annotations: JsonObject = {}, plural = 'models'): JsonObject {
  const name = `${plural}.${group}`;
  return {
    operation: 'DELETE',
    kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
    resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
    namespace: '',
    name,
    object: null,
    oldObject: {
      metadata: { name, annotations },
      spec: { group, names: { plural }, versions: [{ name: 'v2', served: true, storage: true }] },
    },
  };
}

describe('rule crd-deletion', () => {
  it('refuses to delete a CRD of the bundle and says what to do', async () => {
    const verdict = await verdictOf(rule(), deletion('michelangelo.api'));
    assertDenied(verdict, /models\.michelangelo\.api.*michelangelo\/allow-crd-delete=true/);
  });

  it('refuses the deletion for every value of the annotation but "true"', async () => {
    for (const value of ['', 'false', 'True', true, null]) {
      const request = deletion('michelangelo.api', { 'michelangelo/allow-crd-delete': value });
      assertDenied(await verdictOf(rule(), request), /deletes all its objects/);
    }
  });

  it('refuses the deletion where the request does not show the CRD', async () => {
    assertDenied(await verdictOf(rule(), { ...deletion('michelangelo.api'), oldObject: null }), /deletes all/);
  });

  it('allows the deletion with the annotation', async () => {
    const request = deletion('michelangelo.api', { 'michelangelo/allow-crd-delete': 'true' });
    assert.deepEqual(await verdictOf(rule(), request), { allowed: true });
  });

  it('allows the deletion of a kind that is optional or unknown where nothing of it is there, and no other', async () => {
    for (const plural of ['cachedoutputs', 'metrics']) {
      const request = deletion('michelangelo.api', {}, plural);
      assert.deepEqual(await verdictOf(rule('none'), request), { allowed: true });
      for (const answer of ['some', 'unknown'] as const) {
        assertDenied(
          await verdictOf(rule(answer), request),
          new RegExp(`deleting CRD ${plural}\\.michelangelo\\.api deletes all`),
        );
      }
    }
    assertDenied(await verdictOf(rule(), deletion('ingester.michelangelo.api', {}, 'ingesters')), /deletes all/);
  });

  it('does not apply to CRDs of other groups', async () => {
    for (const group of ['example.com', 'notmichelangelo.api', 'stored.example.com']) {
      assert.deepEqual(await verdictOf(rule(), deletion(group)), { allowed: true });
    }
  });
});
