import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import { nestingDepth } from '../../../../webhooks/policies/nesting-depth.ts';
import { runPolicies } from '../../../../webhooks/policy.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';
import { aRequest } from '../../../support/review.ts';

/** Levels of the whole object; two of them are the object and its spec. */
function nested(levels: number, shape: 'objects' | 'lists' = 'objects'): JsonObject {
  let value: JsonValue = 1;
  for (let level = 2; level < levels; level += 1) value = shape === 'lists' ? [0, value] : { before: 'x', a: value };
  return { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name: 'a' }, spec: { input: value } };
}

describe('rule nesting-depth', () => {
  for (const shape of ['objects', 'lists'] as const) {
    it(`allows 30 levels of ${shape} and refuses 31`, async () => {
      assert.deepEqual(await verdictOf(nestingDepth, { object: nested(30, shape) }), { allowed: true });
      assertDenied(await verdictOf(nestingDepth, { object: nested(31, shape) }), /nested deeper than 30 levels/);
    });
  }

  it('does not count managedFields, which are not stored', async () => {
    const object = { ...nested(30), metadata: { name: 'a', managedFields: [nested(40)] } };
    assert.deepEqual(await verdictOf(nestingDepth, { object }), { allowed: true });
  });

  it('refuses an update that makes an object too deep, and lets an object that was too deep be edited', async () => {
    const update = { operation: 'UPDATE', oldObject: nested(3), object: nested(31) };
    assertDenied(await verdictOf(nestingDepth, update), /nested deeper/);
    assert.deepEqual(await verdictOf(nestingDepth, { ...update, oldObject: nested(40) }), { allowed: true });
  });

  it('judges an object as deep as the API server takes, with the other rules', async () => {
    const request = aRequest({ operation: 'CREATE', object: {}, oldObject: null });
    const deep = JSON.parse(`${'{"a":'.repeat(9990)}1${'}'.repeat(9990)}`) as JsonObject;
    const context = {
      reconcilerUser: 'reconciler',
      signal: new AbortController().signal,
      audience: 'any-client',
    } as const;
    for (const each of [
      { ...request, object: { spec: deep } },
      { ...request, operation: 'UPDATE' as const, object: { spec: deep }, oldObject: { spec: {} } },
    ]) {
      const decision = await runPolicies([nestingDepth], each, context);
      assert.equal(decision.allowed, false);
    }
  });
});
