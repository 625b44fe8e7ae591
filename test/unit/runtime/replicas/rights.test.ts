import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { bucketLeases, slotLeases } from '../../../../src/runtime/replicas/lease-names.ts';

describe('the rights of replicas that work at the same time', () => {
  it('name the leases that they write, and no other', () => {
    const file = 'config/components/active-replicas/rbac.yaml';
    const [role] = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as unknown);
    const { rules } = role as { readonly rules: readonly { readonly resourceNames?: readonly string[] }[] };
    assert.deepEqual(
      rules.flatMap(({ resourceNames = [] }) => resourceNames),
      [...slotLeases, ...bucketLeases],
    );
  });
});
