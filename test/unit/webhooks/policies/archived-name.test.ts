import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import type { ObjectName } from '../../../../src/gitops/tombstone.ts';
import type { TombstoneEntry } from '../../../../src/gitops/tombstone-index.ts';
import { allKinds } from '../../../../src/kinds/kinds.ts';
import { archivedName } from '../../../../webhooks/policies/archived-name.ts';
import type { TombstoneIndex } from '../../../../webhooks/ports.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

const UID = '00000000-0000-4000-8000-000000000001';

function indexWith(known: Partial<TombstoneEntry> | undefined): TombstoneIndex & { readonly asked: ObjectName[] } {
  const asked: ObjectName[] = [];
  const entry = known === undefined ? undefined : { uid: UID, end: 'evicted' as const, versions: [], ...known };
  return { asked, find: (name) => (asked.push(name), entry) };
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
      const tombstones = indexWith({});
      const message = new RegExp(
        `^${kind} n+\\.\\.\\. is archived; remove it from Git or restore it, .*allow-archived-name=${UID}$`,
      );
      assertDenied(await verdictOf(archivedName(tombstones, 'deny'), create(plural)), message);
      assert.deepEqual(tombstones.asked, [{ kind, namespace: 'ns', name: 'n'.repeat(253) }]);
    });
  }

  it('only warns in mode warn', async () => {
    assertWarned(await verdictOf(archivedName(indexWith({}), 'warn'), create('models')), /is archived/);
  });

  it('permits a create that names the evicted object, as a restore does, and no other', async () => {
    const rule = archivedName(indexWith({}), 'deny');
    for (const annotation of ['michelangelo/RestoredFrom', 'michelangelo/allow-archived-name']) {
      assertWarned(await verdictOf(rule, create('models', { [annotation]: UID })), /stays in the database/);
      for (const other of ['', 'true', UID.slice(0, 8), `${UID} `]) {
        assertDenied(await verdictOf(rule, create('models', { [annotation]: other })), /is archived/);
      }
    }
  });

  it('says nothing about names of deleted objects and unknown names', async () => {
    for (const known of [{ end: 'deleted' } as const, undefined]) {
      assert.deepEqual(await verdictOf(archivedName(indexWith(known), 'deny'), create('models')), { allowed: true });
    }
  });

  it('does not apply to updates, deletions, status and other resources', async () => {
    const others: readonly JsonObject[] = [
      { operation: 'UPDATE' },
      { operation: 'DELETE' },
      { subResource: 'status' },
      { resource: { group: 'michelangelo.api', version: 'v2', resource: 'notebooks' } },
      { resource: { group: 'apps', version: 'v1', resource: 'deployments' } },
    ];
    for (const more of others) {
      const tombstones = indexWith({});
      assert.deepEqual(await verdictOf(archivedName(tombstones, 'deny'), create('models', {}, more)), {
        allowed: true,
      });
      assert.deepEqual(tombstones.asked, []);
    }
  });
});
