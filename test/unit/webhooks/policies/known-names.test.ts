import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { knownAnnotations, knownLabels } from '../../../../src/api/names.ts';
import type { JsonObject } from '../../../../src/base/json.ts';
import { knownNames } from '../../../../webhooks/policies/known-names.ts';
import { assertWarned, verdictOf } from '../../../support/policies.ts';

const resource = { group: 'michelangelo.api', version: 'v2', resource: 'models' };
const withNames = (metadata: JsonObject): JsonObject => ({ metadata: { name: 'n', ...metadata } });
const requestFor = (metadata: JsonObject, more: JsonObject = {}): JsonObject => ({
  operation: 'CREATE',
  resource,
  object: withNames(metadata),
  ...more,
});
const empty = (names: readonly string[]): JsonObject => Object.fromEntries(names.map((name) => [name, '']));

describe('rule known-names', () => {
  it('warns of an annotation that is written a little differently, and says which is meant', async () => {
    for (const [written, meant] of [
      ['michelangelo/deleting', 'michelangelo/Deleting'],
      ['michelangelo/Unguard', 'michelangelo/Unguarded'],
      ['michelangelo/delete-propagation', 'michelangelo/DeletePropagation'],
    ] as const) {
      const verdict = await verdictOf(knownNames, requestFor({ annotations: { [written]: 'true' } }));
      assertWarned(verdict, new RegExp(`^the annotation ${written} has no effect: .*; is ${meant} meant\\?$`));
    }
  });

  it('shows no word that clients act on', async () => {
    const verdict = await verdictOf(knownNames, requestFor({ annotations: { 'michelangelo/immutable': 'true' } }));
    assertWarned(verdict, /^the annotation \(hidden\) has no effect.*is the eviction annotation meant/);
  });

  it('warns of a label, and of a name without a likeness', async () => {
    const labels = { 'michelangelo/updatetimestamp': '1' };
    assertWarned(
      await verdictOf(knownNames, requestFor({ labels })),
      /^the label .*michelangelo\/UpdateTimestamp meant/,
    );
    const annotations = { 'michelangelo/owning-team-of-the-model': 'a' };
    assertWarned(await verdictOf(knownNames, requestFor({ annotations })), /nothing reads it$/);
  });

  it('says nothing of known names, of other prefixes, and of what the object had before', async () => {
    const known = { annotations: empty(knownAnnotations), labels: empty(knownLabels) };
    const other = { annotations: { 'example.com/deleting': 'true', 'stored.michelangelo.api/state': 'live' } };
    for (const metadata of [known, other]) {
      assert.deepEqual(await verdictOf(knownNames, requestFor(metadata)), { allowed: true });
    }
    const metadata = { annotations: { 'michelangelo/deleting': 'true' } };
    const update = { operation: 'UPDATE', oldObject: withNames(metadata) };
    assert.deepEqual(await verdictOf(knownNames, requestFor(metadata, update)), { allowed: true });
    assertWarned(await verdictOf(knownNames, requestFor(metadata, { ...update, oldObject: withNames({}) })), /nothing/);
  });

  it('warns at most five times, and does not apply to status and deletes', async () => {
    const many = empty(Array.from({ length: 9 }, (_, index) => `michelangelo/new-${index}`));
    const verdict = await verdictOf(knownNames, requestFor({ annotations: many }));
    assert.equal(verdict.allowed && verdict.warnings?.length, 5);
    for (const change of [{ operation: 'DELETE' }, { subResource: 'status' }]) {
      assert.deepEqual(await verdictOf(knownNames, requestFor({ annotations: many }, change)), { allowed: true });
    }
  });
});
