// Where any client may ask, no answer holds what the webhook knows from elsewhere.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { INGESTER_GROUP } from '../../../../src/api/ingester/spec.ts';
import type { JsonObject } from '../../../../src/base/json.ts';
import { archivedName } from '../../../../webhooks/policies/archived-name.ts';
import { contentDowngrade } from '../../../../webhooks/policies/content-downgrade.ts';
import { crdDowngrade } from '../../../../webhooks/policies/crd-downgrade.ts';
import { ingesterDowngrade } from '../../../../webhooks/policies/ingester-downgrade.ts';
import type { ValidatingPolicy } from '../../../../webhooks/policy.ts';
import { aRecord } from '../../../support/admission-record.ts';
import { assertMessage, verdictOf } from '../../../support/policies.ts';

const UID = '5ec4e700-0000-4000-8000-000000000001';
const tombstones = { find: () => ({ uid: UID, end: 'evicted' as const, versions: ['5.0.5'] }) };
const schema = (properties: JsonObject): JsonObject => ({ openAPIV3Schema: { type: 'object', properties } });
const crdSpec = (properties: JsonObject): JsonObject => ({
  ...{ group: 'michelangelo.api', names: { plural: 'models' } },
  versions: [{ name: 'v2', served: true, storage: true, schema: schema(properties) }],
});
const record = aRecord(
  { state: 'known', value: '5.0.5' },
  { state: 'known', value: { spec: crdSpec({ secretField: { type: 'string' } }), rows: 'some' } },
);
const create = (group: string, plural: string, object: JsonObject): JsonObject => ({
  ...{
    operation: 'CREATE',
    namespace: 'ns',
    name: plural === 'customresourcedefinitions' ? 'models.michelangelo.api' : 'a',
  },
  kind: { group, version: 'v2', kind: plural === 'ingesters' ? 'Ingester' : 'RayCluster' },
  resource: { group, version: 'v2', resource: plural },
  ...{ oldObject: null, object },
});

const cases: readonly { rule: ValidatingPolicy; request: JsonObject; secret: RegExp }[] = [
  {
    rule: archivedName(tombstones, 'deny'),
    request: create('michelangelo.api', 'rayclusters', {}),
    secret: new RegExp(UID),
  },
  {
    rule: ingesterDowngrade('deny', record),
    request: create(INGESTER_GROUP, 'ingesters', { spec: { version: '1.0.0' } }),
    secret: /5\.0\.5/,
  },
  {
    rule: ingesterDowngrade('deny', record),
    request: create(INGESTER_GROUP, 'ingesters', { spec: { version: 'nightly' } }),
    secret: /5\.0\.5/,
  },
  {
    rule: contentDowngrade({}, tombstones),
    request: create('michelangelo.api', 'rayclusters', { spec: { rayVersion: '1.0.0' } }),
    secret: /5\.0\.5/,
  },
  {
    rule: crdDowngrade(
      { hasObjects: () => Promise.resolve('some'), heldPlaces: (_resource, places) => Promise.resolve(places) },
      record,
    ),
    request: create('apiextensions.k8s.io', 'customresourcedefinitions', { spec: crdSpec({}) }),
    secret: /secretField/,
  },
];

describe('the audience of an answer', () => {
  for (const { rule, request, secret } of cases) {
    it(`hears from ${rule.name} what only the API server may know, and no other client does (${secret.source})`, async () => {
      const said = async (audience: 'api-server' | 'any-client'): Promise<string> => {
        const verdict = await verdictOf(rule, request, audience);
        assert.ok(!verdict.allowed, 'was allowed');
        assertMessage(verdict.message);
        return verdict.message;
      };
      assert.match(await said('api-server'), secret);
      assert.doesNotMatch(await said('any-client'), secret);
    });
  }
});
