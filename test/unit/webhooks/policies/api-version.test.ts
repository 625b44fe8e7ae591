import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { apiVersionDowngrade } from '../../../../webhooks/policies/api-version.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';

const managed = (...entries: readonly (readonly [string, string?])[]): JsonObject[] =>
  entries.map(([apiVersion, subresource]) => ({
    manager: 'kubectl',
    apiVersion,
    ...(subresource === undefined ? {} : { subresource }),
  }));

function model(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name: 'a', ...metadata }, spec };
}

function written(through: string, recorded: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    operation: 'UPDATE',
    requestKind: { group: 'michelangelo.api', version: through, kind: 'Model' },
    oldObject: model({ algorithm: 'a' }, { managedFields: [...recorded] }),
    object: model({ algorithm: 'b' }),
    ...more,
  };
}

const rule = apiVersionDowngrade('');
const v3 = managed(['michelangelo.api/v3']);

describe('rule api-version-downgrade', () => {
  it('refuses a change through an older version than the object was written through', async () => {
    assertDenied(await verdictOf(rule, written('v2', v3)), /through v2 would drop what v3 added; write v3/);
    assertDenied(await verdictOf(rule, written('v3beta1', v3)), /write v3/);
    const mixed = managed(['michelangelo.api/v2'], ['michelangelo.api/v3'], ['michelangelo.api/v1']);
    assertDenied(await verdictOf(rule, written('v2', mixed)), /write v3/);
  });

  it('allows the same and newer versions', async () => {
    for (const version of ['v3', 'v4']) {
      assert.deepEqual(await verdictOf(rule, written(version, v3)), { allowed: true });
    }
  });

  it('allows an older version when the annotation names it', async () => {
    const annotations = { 'michelangelo/allow-downgrade': 'v2' };
    const object = model({ algorithm: 'b' }, { annotations });
    assert.deepEqual(await verdictOf(rule, written('v2', v3, { object })), { allowed: true });
    const other = model({ algorithm: 'b' }, { annotations: { 'michelangelo/allow-downgrade': 'v1' } });
    assertDenied(await verdictOf(rule, written('v2', v3, { object: other })), /write v3/);
  });

  it('allows labels and annotations through any version', async () => {
    const object = model({ algorithm: 'a' }, { labels: { team: 'a' }, managedFields: v3 });
    assert.deepEqual(await verdictOf(rule, written('v2', v3, { object })), { allowed: true });
  });

  it('does not count writes of status, other groups, and names without order', async () => {
    const others = managed(['michelangelo.api/v3', 'status'], ['example.com/v9'], ['michelangelo.api/next']);
    assert.deepEqual(await verdictOf(rule, written('v2', others)), { allowed: true });
  });

  it('allows a change where managedFields are missing or broken', async () => {
    for (const managedFields of [null, {}, 'x', [null, 1, { apiVersion: 7 }]]) {
      const oldObject = model({ algorithm: 'a' }, { managedFields });
      assert.deepEqual(await verdictOf(rule, written('v2', [], { oldObject })), { allowed: true });
    }
  });

  it('refuses a version older than the configuration allows, also for a create', async () => {
    const strict = apiVersionDowngrade('v3');
    assertDenied(await verdictOf(strict, written('v2', [])), /write v3/);
    const create = { operation: 'CREATE', oldObject: null };
    assertDenied(await verdictOf(strict, written('v2', [], create)), /write v3/);
    assert.deepEqual(await verdictOf(strict, written('v3', [], create)), { allowed: true });
  });
});
