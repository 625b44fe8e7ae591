import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { problemsIn } from '../../../../src/config/load.ts';
import { validatingPolicies } from '../../../../webhooks/policies/registry.ts';
import { aRecord } from '../../../support/admission-record.ts';

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
    census: { hasObjects: () => Promise.resolve('some'), heldPlaces: () => Promise.resolve('unknown') },
    tombstones: { find: () => ({ uid: 'a-uid', end: 'evicted', versions: [] }) },
    record: aRecord(),
    bounds: { permitted: () => Promise.resolve('anything') },
    configurationProblems: problemsIn,
  },
);

describe('the list of validating rules', () => {
  it('has a stable, short and unique name for each rule', () => {
    const names = policies.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^[a-z]+(-[a-z]+)+$/);
  });

  it('has a heading in docs/admission.md for each rule, and no heading without a rule', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/admission.md'), 'utf8');
    const [, rules = ''] = /\n## Rules\n(.*?)(?:\n## |$)/s.exec(page) ?? [];
    const headings = [...rules.matchAll(/^### ([a-z]+(?:-[a-z]+)+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.sort(), policies.map(({ name }) => name).sort());
  });
});
