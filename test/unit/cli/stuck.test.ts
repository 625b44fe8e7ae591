// stuck of the plugin.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { pluginExitCode } from '../../../src/cli/kubectl/errors.ts';
import { inNamespace, refuseOld, stuckNotes, stuckText } from '../../../src/cli/kubectl/stuck.ts';

const now = new Date('2026-01-01T00:10:00Z');
const item = (namespace: string, name: string): JsonObject => ({
  ...{ kind: 'Model', plural: 'models', namespace, name, since: '2026-01-01T00:00:00Z', attempts: 9 },
  ...{ code: 'ROW_REFUSED', message: 'out of range\u001b[2J' },
});
const hold = (namespace?: string): JsonObject => ({
  ...{ kind: 'Model', plural: 'models', since: '2026-01-01T00:00:00Z', message: 'More than 100.' },
  ...(namespace === undefined ? {} : { namespace }),
});
const answer = (more: JsonObject = {}): JsonObject => ({
  ...{ ageSeconds: 4, count: 2, truncated: false, items: [item('ml', 'm1'), item('ads', 'm2')], heldDeletions: [] },
  ...more,
});

describe('stuck', () => {
  it('has a line for each object, which commands no terminal', () => {
    assert.equal(
      stuckText(answer(), 'heads', now),
      'NAMESPACE   NAME        FOR   ATTEMPTS   WHY\n' +
        'ml          models/m1   10m   9          out of range\\u001b[2J\n' +
        'ads         models/m2   10m   9          out of range\\u001b[2J\n',
    );
    assert.equal(stuckText(answer({ items: [] }), 'heads', now), '');
    assert.deepEqual(stuckNotes(answer()), []);
  });

  it('is of one namespace where one is named, with what is held everywhere', () => {
    const all = answer({ heldDeletions: [hold(), hold('ml'), hold('ads')] });
    const { items, heldDeletions, count } = inNamespace(all, 'ml');
    assert.deepEqual([items, heldDeletions, count], [[item('ml', 'm1')], [hold(), hold('ml')], 1]);
    assert.equal(inNamespace(all, undefined), all);
  });

  it('says what is held, what it leaves out, and that there is nothing', () => {
    const nothing = { items: [], count: 0 };
    assert.deepEqual(stuckNotes(answer(nothing)), ['Nothing of what you may list is stuck.']);
    const late = { kind: 'Model', plural: 'models', since: '2026-01-01T00:00:00Z', message: 'It cannot be watched.' };
    assert.deepEqual(stuckNotes(answer({ ...nothing, unwatchedKinds: [late] })), [
      'Model is late since 2026-01-01T00:00:00Z: It cannot be watched.',
    ]);
    assert.deepEqual(stuckNotes(answer({ ...nothing, heldDeletions: [hold('ml')] })), [
      'Deletions of Model in ml are held since 2026-01-01T00:00:00Z: More than 100.',
    ]);
    assert.deepEqual(stuckNotes(answer({ count: 900, truncated: true })), [
      'These are the oldest of 900.',
      'The reconciler lists the oldest only; there may be more.',
    ]);
  });

  it('is not known where the reconciler has told nothing for long: nothing is said to be well, and the exit code says so', () => {
    const old = answer({ items: [], count: 0, at: '2026-01-01T00:09:42Z', ageSeconds: 18 });
    assert.deepEqual(stuckNotes(old), []);
    for (const stuck of [old, answer({ at: '2026-01-01T00:09:42Z', ageSeconds: 18 })]) {
      assert.throws(
        () => refuseOld(stuck),
        (error: Error) => {
          assert.match(error.message, /^What is stuck now is not known: .* since 2026-01-01T00:09:42Z, 18 s ago\./);
          return pluginExitCode(error) === 6;
        },
      );
    }
    refuseOld(answer({ ageSeconds: 14 }));
  });
});
