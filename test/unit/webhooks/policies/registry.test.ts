import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { validatingPolicies } from '../../../../webhooks/policies/registry.ts';
import { aMemory } from '../../../support/admission-memory.ts';

const policies = validatingPolicies(
  {
    incomparableVersions: 'warn',
    contentDowngrades: {},
    minimumApiVersion: '',
    createMarked: 'deny',
    archivedNames: 'deny',
    ownedDeletions: 'deny',
    fieldRules: 'warn',
  },
  {
    access: { mayDelete: () => Promise.resolve('no') },
    census: { hasObjects: () => Promise.resolve('some') },
    names: { recall: () => ({ uid: 'a-uid', end: 'evicted', versions: [] }) },
    memory: aMemory(),
    bounds: { permitted: () => Promise.resolve('anything') },
  },
);

describe('the list of validating rules', () => {
  it('has a name for each that is stable, short and its own', () => {
    const names = policies.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^[a-z]+(-[a-z]+)+$/);
  });

  it('has a heading in docs/admission.md for each, and no heading without a rule', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/admission.md'), 'utf8');
    const [, rules = ''] = /\n## Rules\n(.*?)(?:\n## |$)/s.exec(page) ?? [];
    const headings = [...rules.matchAll(/^### ([a-z]+(?:-[a-z]+)+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.sort(), policies.map(({ name }) => name).sort());
  });
});
