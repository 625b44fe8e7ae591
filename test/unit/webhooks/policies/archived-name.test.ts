import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allKinds } from '../../../../src/api/kinds.ts';
import type { JsonObject } from '../../../../src/base/json.ts';
import type { RememberedName } from '../../../../src/gitops/remembered-names.ts';
import type { ObjectName } from '../../../../src/gitops/tombstone.ts';
import { archivedName } from '../../../../webhooks/policies/archived-name.ts';
import type { NameMemory } from '../../../../webhooks/ports.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

const UID = '00000000-0000-4000-8000-000000000001';

function memory(known: Partial<RememberedName> | undefined): NameMemory & { readonly asked: ObjectName[] } {
  const asked: ObjectName[] = [];
  const record = known === undefined ? undefined : { uid: UID, end: 'evicted' as const, versions: [], ...known };
  return { asked, recall: (name) => (asked.push(name), record) };
}

function create(plural: string, annotations: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return {
    operation: 'CREATE',
    resource: { group: 'michelangelo.api', version: 'v2', resource: plural },
    namespace: 'ns',
    name: 'n'.repeat(253),
    oldObject: null,
    object: { metadata: { name: 'n', annotations } },
    ...more,
  };
}

describe('rule archived-name', () => {
  for (const { kind, plural } of allKinds) {
    it(`refuses to create a ${kind} under the name of an evicted one, and says how to go on`, async () => {
      const names = memory({});
      const message = new RegExp(
        `^${kind} n+\\.\\.\\. is archived; remove it from Git or restore it, .*allow-archived-name=${UID}$`,
      );
      assertDenied(await verdictOf(archivedName(names, 'deny'), create(plural)), message);
      assert.deepEqual(names.asked, [{ kind, namespace: 'ns', name: 'n'.repeat(253) }]);
    });
  }

  it('only warns where the setting says so', async () => {
    assertWarned(await verdictOf(archivedName(memory({}), 'warn'), create('models')), /is archived/);
  });

  it('permits the one that names the evicted object, as a restore does, and no other', async () => {
    const rule = archivedName(memory({}), 'deny');
    for (const annotation of ['michelangelo/RestoredFrom', 'michelangelo/allow-archived-name']) {
      assertWarned(await verdictOf(rule, create('models', { [annotation]: UID })), /stays in the database/);
      for (const other of ['', 'true', UID.slice(0, 8), `${UID} `]) {
        assertDenied(await verdictOf(rule, create('models', { [annotation]: other })), /is archived/);
      }
    }
  });

  it('says nothing about names of deleted objects and names that nobody knows', async () => {
    for (const known of [{ end: 'deleted' } as const, undefined]) {
      assert.deepEqual(await verdictOf(archivedName(memory(known), 'deny'), create('models')), { allowed: true });
    }
  });

  it('is not asked about updates, deletions, status and other resources', async () => {
    const others: readonly JsonObject[] = [
      { operation: 'UPDATE' },
      { operation: 'DELETE' },
      { subResource: 'status' },
      { resource: { group: 'michelangelo.api', version: 'v2', resource: 'notebooks' } },
      { resource: { group: 'apps', version: 'v1', resource: 'deployments' } },
    ];
    for (const more of others) {
      const names = memory({});
      assert.deepEqual(await verdictOf(archivedName(names, 'deny'), create('models', {}, more)), { allowed: true });
      assert.deepEqual(names.asked, []);
    }
  });
});
