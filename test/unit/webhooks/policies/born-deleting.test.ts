// CREATE with deletionTimestamp or deletionGracePeriodSeconds    refused, in each of our groups, and for our CRDs
// anything else, and objects of others                           passes
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { bornDeleting } from '../../../../webhooks/policies/born-deleting.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';

const marked = (metadata: JsonObject): JsonObject => ({
  object: { kind: 'Model', metadata: { name: 'a', ...metadata } },
});
const going = marked({ deletionTimestamp: '2025-01-02T03:04:05Z' });
const resource = (group: string, plural: string): JsonObject => ({
  resource: { group, version: 'v1', resource: plural },
  kind: { group, version: 'v1', kind: 'Any' },
});
const ofCrd = {
  ...resource('apiextensions.k8s.io', 'customresourcedefinitions'),
  name: 'models.michelangelo.api',
};

describe('rule born-deleting', () => {
  for (const [what, request, field] of [
    ['a time of deletion', going, 'deletionTimestamp'],
    ['a grace period', marked({ deletionGracePeriodSeconds: 0 }), 'deletionGracePeriodSeconds'],
    [
      'a time of deletion on an Ingester',
      { ...going, ...resource('ingester.michelangelo.api', 'ingesters') },
      'deletion',
    ],
    ['a time of deletion on one of our definitions', { ...going, ...ofCrd }, 'deletionTimestamp'],
  ] as const) {
    it(`refuses a new object that carries ${what}`, async () => {
      assertDenied(await verdictOf(bornDeleting, request), new RegExp(`must not carry metadata\\.${field}`));
    });
  }

  for (const [what, request] of [
    ['a new object without either', marked({})],
    [
      'an update of an object that is being deleted',
      { ...going, operation: 'UPDATE', oldObject: going['object'] ?? null },
    ],
    ['a subresource', { ...going, subResource: 'status' }],
    ['an object of another group', { ...going, ...resource('example.com', 'models') }],
    ['a definition of others', { ...going, ...ofCrd, name: 'widgets.example.com' }],
  ] as const) {
    it(`allows ${what}`, async () => assert.equal((await verdictOf(bornDeleting, request)).allowed, true));
  }
});
